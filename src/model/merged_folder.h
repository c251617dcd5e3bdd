#pragma once
// Writes a Hugging Face folder of a model with its adapters merged into the weights.

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

/// The merged folder. Every matrix W with an adapter is replaced by W + scale * B * A in the type
/// of W. All other bytes of the safetensors files are copied unchanged, also those of other parts
/// of a larger model. If the adapters specify RoPE angles or a trained length, config.json contains
/// them.
class MergedFolder {
 public:
  /// Plans the folder and reads no weights. The checkpoint must be a Hugging Face folder. The
  /// checkpoint and the adapters must outlive this object. Throws UserError naming file and reason
  /// if an adapter does not belong to the model, if it changes an output matrix that shares the
  /// embedding's tensor, or if it specifies a trained length on which the angles depend.
  MergedFolder(const Checkpoint& checkpoint, std::span<const WeightedLora> adapters);
  MergedFolder(const MergedFolder&) = delete;  // changes point at the model
  MergedFolder& operator=(const MergedFolder&) = delete;

  size_t bytes() const;    ///< size of all files
  size_t tensors() const;  ///< includes those of other parts
  const ChangedTypes& changed() const { return changed_; }

  /// Names of the files to write: the weights and all files that describe the model and its tokens,
  /// but no weights in other formats. config.json is the last one, because an unfinished folder
  /// without it is not taken for a model.
  const std::vector<std::string>& files() const { return files_; }
  void write(const std::string& file, const ByteSink& to) const;

 private:
  void plan();
  void list_files();
  void write_shard(size_t shard, const ByteSink& to) const;

  const Checkpoint& checkpoint_;
  Model model_;
  std::vector<MergedTensor> tensors_;  ///< changed tensors, in the order of their addresses
  ChangedTypes changed_;
  std::string config_;  ///< contents of config.json
  std::vector<std::string> files_;
};

}  // namespace longhaul
