#pragma once
// MergedFolder writes a model as a Hugging Face folder, with LoRA adapters merged into the weights.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "format/checkpoint.h"
#include "model/lora.h"
#include "model/merged_tensor.h"
#include "model/model.h"

namespace longhaul {

/// In the merged folder, every matrix W with an adapter (A, B) is replaced by W + scale * B * A, in
/// the type of W. All other bytes of the safetensors files are copied unchanged, including parts
/// that Longhaul does not use (such as an image encoder). If the adapters specify a RoPE base or a
/// trained context length, it replaces that of the model in config.json.
class MergedFolder {
 public:
  /// Plans the folder without reading weights. The checkpoint must be a Hugging Face folder. The
  /// checkpoint and the adapters must outlive this object. Throws a UserError that names the file
  /// and the reason in these cases: an adapter does not belong to the model; it changes the matrix
  /// of the logits, which is the same tensor as the embedding; it specifies a trained context
  /// length from which the model's RoPE scaling is computed.
  MergedFolder(const Checkpoint& checkpoint, std::span<const WeightedLora> adapters);
  MergedFolder(const MergedFolder&) = delete;  // tensors_ refers to model_
  MergedFolder& operator=(const MergedFolder&) = delete;

  size_t bytes() const;  ///< returns the total size in bytes of all files
  /// Returns the number of tensors in the folder, including those that Longhaul does not use.
  size_t tensors() const;
  const ChangedTypes& changed() const { return changed_; }

  /// Returns the names of the files to write, in order: the weights, and all files that describe
  /// the model and its tokenizer. Weights in other formats are not included. config.json is the
  /// last file. A folder without config.json is not recognised as a model, so a folder that is not
  /// complete is never used.
  const std::vector<std::string>& files() const { return files_; }
  /// Writes one of files() to `to`.
  void write(const std::string& file, const ByteSink& to) const;

 private:
  void plan();
  void list_files();
  void write_shard(size_t shard, const ByteSink& to) const;

  const Checkpoint& checkpoint_;
  Model model_;
  /// Tensors with merged adapters, in the order of their addresses.
  std::vector<MergedTensor> tensors_;
  ChangedTypes changed_;
  std::string config_;  ///< contents of config.json
  std::vector<std::string> files_;
};

}  // namespace longhaul
