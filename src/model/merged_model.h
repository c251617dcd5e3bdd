#pragma once
// A model with its adapters folded into the weights, as a GGUF file: what any engine reads.

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/checkpoint.h"
#include "model/lora.h"
#include "model/merged_tensor.h"

namespace longhaul {

/// W + scale B A in the place of every matrix W that an adapter stands beside; everything else as
/// it is in the file. Angles and trained length that the adapters name are in the metadata.
class MergedModel {
 public:
  /// Looks at both and reads no weights; they must outlive it. `type`: of the matrices that change,
  /// F32, F16, BF16 or Q8_0; without one those in these types keep theirs and others become Q8_0,
  /// since to round them back to 4 bits would lose most of what an adapter adds. Throws UserError
  /// naming file and reason: an adapter that does not belong to the model, rows that are no whole
  /// blocks of the type. The checkpoint must be a GGUF file; of folders: merged_folder.h.
  MergedModel(const Checkpoint& checkpoint, std::span<const WeightedLora> adapters,
              std::optional<DType> type);
  MergedModel(const MergedModel&) = delete;  // its parts point at each other
  MergedModel& operator=(const MergedModel&) = delete;

  size_t bytes() const { return bytes_; }  ///< of the file
  size_t tensors() const { return tensors_.size(); }
  const ChangedTypes& changed() const { return changed_; }
  /// The whole file.
  void write(const ByteSink& to) const;

 private:
  void plan(std::optional<DType> type);
  std::vector<TensorView> written() const;  ///< without data
  void set_metadata(const ModelConfig& before);
  void set_angles(const ModelConfig& before, const std::string& prefix);
  void set_file_type();
  void set_number(const std::string& key, GgufType type, std::span<const std::byte> value);

  const Checkpoint& checkpoint_;
  Model model_;
  std::vector<MergedTensor> tensors_;
  std::vector<GgufEntry> metadata_;
  std::deque<std::string> own_texts_;  ///< that entries of metadata_ view
  ChangedTypes changed_;
  std::string header_;
  uint64_t alignment_ = 0;
  size_t bytes_ = 0;
};

}  // namespace longhaul
