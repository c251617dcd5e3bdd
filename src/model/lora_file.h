#pragma once
// One LoRA adapter on disk: a GGUF file in llama.cpp's form, or the folder that PEFT saves.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/tensor_view.h"
#include "format/checkpoint.h"
#include "text/regex.h"

namespace longhaul {

/// Movable; views of its tensors live as long as it does.
class LoraFile {
 public:
  struct Factors {
    TensorView a;      ///< [rank, inputs]
    TensorView b;      ///< [outputs, rank]
    double alpha = 0;  ///< the scale's numerator; 0: the scale is 1 whatever the rank
  };

  /// Only headers are read. Throws UserError: no adapter, one of another kind (DoRA, with biases,
  /// for base weights that were changed when it began), a factor without its other half, shapes
  /// that do not belong together.
  static LoraFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// How its tensors are named and the rows of queries and keys ordered.
  CheckpointFormat format() const { return format_; }
  /// The family that it was made for; empty: PEFT does not say.
  const std::string& architecture() const { return architecture_; }
  /// The factor of x A^T.
  double scale(const Factors& factors) const;
  /// RoPE base and trained context of the adapter, where they replace the model's: it was trained
  /// with other angles, or for longer contexts.
  std::optional<double> rope_base() const { return rope_base_; }
  std::optional<int64_t> context() const { return context_; }
  /// By the name of the matrix, without .weight.
  const std::map<std::string, Factors>& factors() const { return factors_; }
  /// Matrices that take the place of the model's (PEFT's modules_to_save), by the same names, and
  /// their biases by these names with .bias.
  const std::map<std::string, TensorView>& whole() const { return whole_; }
  /// The embedding and the output matrix stay one where the model has one for both.
  bool keeps_tied() const { return keeps_tied_; }
  size_t bytes() const;

 private:
  LoraFile(CheckpointFormat format, std::filesystem::path path)
      : format_(format), path_(std::move(path)) {}

  void open_gguf();
  void open_peft();
  void add_peft_tensor(const TensorView& tensor);
  void add(const std::string& matrix, bool is_a, const TensorView& tensor);
  void check_factors() const;
  /// Of a module by PEFT's name.
  double alpha_of(const std::string& module) const;

  CheckpointFormat format_;
  std::filesystem::path path_;
  std::string file_;  ///< that holds the tensors, for messages
  std::unique_ptr<Checkpoint> gguf_;
  std::unique_ptr<MappedFile> safetensors_;
  std::string architecture_;
  double alpha_ = 0;
  std::vector<std::pair<Regex, double>> alphas_;  ///< of modules with another; the first counts
  bool root_of_rank_ = false;                     ///< alpha / sqrt(rank), not alpha / rank
  bool keeps_tied_ = false;
  std::optional<double> rope_base_;
  std::optional<int64_t> context_;
  std::map<std::string, Factors> factors_;
  std::map<std::string, TensorView> whole_;
};

}  // namespace longhaul
