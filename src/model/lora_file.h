#pragma once
// LoraFile reads a LoRA adapter from disk: a GGUF file in the format of llama.cpp, or a folder
// saved by PEFT. An adapter changes a weight matrix W to W + scale * B * A, where A and B have few
// rows or columns (the rank).

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

/// Views of an adapter's tensors are valid as long as the object exists. They stay valid if the
/// object is moved.
class LoraFile {
 public:
  struct Factors {
    TensorView a;      ///< [rank, inputs]
    TensorView b;      ///< [outputs, rank]
    double alpha = 0;  ///< numerator of the scale alpha / rank; 0: the scale is 1
  };

  /// Opens an adapter and reads only the headers. Throws UserError in these cases: the file is not
  /// an adapter; its kind is not supported (DoRA, biases, an initialisation that changed the base
  /// weights); A or B of a matrix is missing; the shapes of A and B do not match.
  static LoraFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// Returns the file format, which determines the names of tensors and the order of the rows of Q
  /// and K.
  CheckpointFormat format() const { return format_; }
  /// Returns the name of the model family for which the adapter was made. The result is empty for
  /// PEFT, which does not store this name.
  const std::string& architecture() const { return architecture_; }
  /// Returns the scale in W + scale * B * A, usually alpha / rank.
  double scale(const Factors& factors) const;
  /// The two functions return the RoPE base and the context length with which the adapter was
  /// trained, if they differ from those of the model. They then replace those of the model.
  std::optional<double> rope_base() const { return rope_base_; }
  std::optional<int64_t> context() const { return context_; }
  /// Returns A and B of each changed matrix, by the name of the matrix without .weight.
  const std::map<std::string, Factors>& factors() const { return factors_; }
  /// Returns tensors that replace whole tensors of the model (modules_to_save of PEFT). The key is
  /// the name without .weight, or with .bias for a bias.
  const std::map<std::string, TensorView>& whole() const { return whole_; }
  /// For a model with a single tensor as embedding and as matrix of the logits: returns whether an
  /// adapter that replaces the embedding also replaces the matrix of the logits.
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
  /// Returns alpha for a matrix. `module` is the name of the matrix in PEFT.
  double alpha_of(const std::string& module) const;

  CheckpointFormat format_;
  std::filesystem::path path_;
  std::string file_;  ///< the file that contains the tensors, for error messages
  std::unique_ptr<Checkpoint> gguf_;
  std::unique_ptr<MappedFile> safetensors_;
  std::string architecture_;
  double alpha_ = 0;
  /// Patterns of module names with another alpha; the first pattern that matches is used.
  std::vector<std::pair<Regex, double>> alphas_;
  bool root_of_rank_ = false;  ///< whether the scale is alpha / sqrt(rank) instead of alpha / rank
  bool keeps_tied_ = false;
  std::optional<double> rope_base_;
  std::optional<int64_t> context_;
  std::map<std::string, Factors> factors_;
  std::map<std::string, TensorView> whole_;
};

}  // namespace longhaul
