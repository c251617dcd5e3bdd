#pragma once
// A Hugging Face folder with adapters folded into its weights: a folder of the same kind.

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

/// W + scale B A in the place of every matrix W that an adapter stands beside, in the type that it
/// has; every other byte of the safetensors files as it is, parts of a larger model included.
/// config.json names the angles and the trained length of adapters that name some.
class MergedFolder {
 public:
  /// Looks at both and reads no weights; they must outlive it. The checkpoint must be a Hugging
  /// Face folder. Throws UserError naming file and reason: an adapter that does not belong to the
  /// model, one of an output matrix that is the embedding, a length that angles depend on.
  MergedFolder(const Checkpoint& checkpoint, std::span<const WeightedLora> adapters);
  MergedFolder(const MergedFolder&) = delete;  // changes point at the model
  MergedFolder& operator=(const MergedFolder&) = delete;

  size_t bytes() const;    ///< of all files
  size_t tensors() const;  ///< other parts' included
  const ChangedTypes& changed() const { return changed_; }

  /// Names of the files to write, config.json last: without it a folder is no model. Beside the
  /// weights all that describes the model and its tokens; no weights in other forms.
  const std::vector<std::string>& files() const { return files_; }
  void write(const std::string& file, const ByteSink& to) const;

 private:
  void plan();
  void list_files();
  void write_shard(size_t shard, const ByteSink& to) const;

  const Checkpoint& checkpoint_;
  Model model_;
  std::vector<MergedTensor> tensors_;  ///< that change, in the order of their addresses
  ChangedTypes changed_;
  std::string config_;  ///< what config.json says
  std::vector<std::string> files_;
};

}  // namespace longhaul
