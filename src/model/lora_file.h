#pragma once
// LoraFile reads a LoRA adapter from disk. The adapter is a GGUF file in the format of llama.cpp,
// or a folder saved by PEFT.

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

/// An adapter. Views of its tensors are valid as long as the object exists. Moving the object keeps
/// them valid.
class LoraFile {
 public:
  struct Factors {
    TensorView a;      ///< [rank, inputs]
    TensorView b;      ///< [outputs, rank]
    double alpha = 0;  ///< numerator of the scale; 0: the scale is 1
  };

  /// Opens an adapter and reads only the headers. Throws UserError in these cases: the file is not
  /// an adapter; its kind is unsupported (DoRA, biases, an initialisation that changed the base
  /// weights); one of the factors A and B is missing; the shapes of A and B do not match.
  static LoraFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// Returns the format. It determines the names of the tensors, and the row order of queries and
  /// keys.
  CheckpointFormat format() const { return format_; }
  /// Returns the model family of the adapter. The result is empty for PEFT, which does not store
  /// the family.
  const std::string& architecture() const { return architecture_; }
  /// Returns the scale of the adapter's product, usually alpha / rank.
  double scale(const Factors& factors) const;
  /// These functions return the RoPE base and the trained context of the adapter. They are set if
  /// the adapter was trained with other angles or for longer contexts than the model. They replace
  /// the values of the model.
  std::optional<double> rope_base() const { return rope_base_; }
  std::optional<int64_t> context() const { return context_; }
  /// Returns the factors by name of the matrix, without .weight.
  const std::map<std::string, Factors>& factors() const { return factors_; }
  /// Returns matrices that replace matrices of the model (PEFT's modules_to_save), by name without
  /// .weight. A bias has the name with .bias.
  const std::map<std::string, TensorView>& whole() const { return whole_; }
  /// Returns whether the embedding and the output matrix remain one tensor, if they are one tensor
  /// in the model.
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
  /// Returns alpha for a module. `module` is its name in PEFT.
  double alpha_of(const std::string& module) const;

  CheckpointFormat format_;
  std::filesystem::path path_;
  std::string file_;  ///< the file that contains the tensors, for messages
  std::unique_ptr<Checkpoint> gguf_;
  std::unique_ptr<MappedFile> safetensors_;
  std::string architecture_;
  double alpha_ = 0;
  /// Modules with another alpha; the first match is used.
  std::vector<std::pair<Regex, double>> alphas_;
  bool root_of_rank_ = false;  ///< whether the scale is alpha / sqrt(rank) instead of alpha / rank
  bool keeps_tied_ = false;
  std::optional<double> rope_base_;
  std::optional<int64_t> context_;
  std::map<std::string, Factors> factors_;
  std::map<std::string, TensorView> whole_;
};

}  // namespace longhaul
