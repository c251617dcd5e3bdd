#pragma once
// Reads a LoRA adapter from disk: a GGUF file in the format of llama.cpp, or a folder saved by
// PEFT.

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

/// An adapter. It is movable. Views of its tensors are valid as long as it exists.
class LoraFile {
 public:
  struct Factors {
    TensorView a;      ///< [rank, inputs]
    TensorView b;      ///< [outputs, rank]
    double alpha = 0;  ///< the numerator of the scale; 0: the scale is 1 for every rank
  };

  /// Reads only the headers. Throws UserError if the file is not an adapter, if the adapter is of
  /// an unsupported kind (DoRA, biases, an initialisation that changed the base weights), if one of
  /// the factors A and B is missing, or if their shapes do not match.
  static LoraFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// The format defines the names of the tensors and the row order of queries and keys.
  CheckpointFormat format() const { return format_; }
  /// The model family of the adapter; empty for PEFT, which does not store it.
  const std::string& architecture() const { return architecture_; }
  /// Returns the factor of x A^T.
  double scale(const Factors& factors) const;
  /// RoPE base and trained context of an adapter that was trained with other angles or for longer
  /// contexts than the model. They replace the model's values.
  std::optional<double> rope_base() const { return rope_base_; }
  std::optional<int64_t> context() const { return context_; }
  /// The factors by matrix name, without .weight.
  const std::map<std::string, Factors>& factors() const { return factors_; }
  /// Matrices that replace matrices of the model (PEFT's modules_to_save), by matrix name without
  /// .weight. Their biases have the name with .bias.
  const std::map<std::string, TensorView>& whole() const { return whole_; }
  /// Returns whether the embedding and the output matrix remain one tensor, if they are one in the
  /// model.
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
  /// Returns the alpha of a module with this PEFT name.
  double alpha_of(const std::string& module) const;

  CheckpointFormat format_;
  std::filesystem::path path_;
  std::string file_;  ///< file with the tensors, for messages
  std::unique_ptr<Checkpoint> gguf_;
  std::unique_ptr<MappedFile> safetensors_;
  std::string architecture_;
  double alpha_ = 0;
  std::vector<std::pair<Regex, double>>
      alphas_;                 ///< modules with another alpha; the first match counts
  bool root_of_rank_ = false;  ///< alpha / sqrt(rank), not alpha / rank
  bool keeps_tied_ = false;
  std::optional<double> rope_base_;
  std::optional<int64_t> context_;
  std::map<std::string, Factors> factors_;
  std::map<std::string, TensorView> whole_;
};

}  // namespace longhaul
