#pragma once
// A model with its adapters folded into the weights, as a GGUF file: what any engine reads.

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "format/checkpoint.h"
#include "model/lora.h"
#include "model/model.h"

namespace longhaul {

/// W + scale B A in the place of every matrix W that an adapter stands beside; everything else as
/// it is in the file. Angles and trained length that the adapters name are in the metadata.
class MergedModel {
 public:
  /// Looks at both and reads no weights; they must outlive it. `type`: of the matrices that change,
  /// F32, F16, BF16 or Q8_0; without one those in these types keep theirs and others become Q8_0,
  /// since to round them back to 4 bits would lose most of what an adapter adds. Throws UserError
  /// naming file and reason: a Hugging Face folder (whose tokenizer GGUF holds in another form),
  /// an adapter that does not belong to the model, rows that are no whole blocks of the type.
  MergedModel(const Checkpoint& checkpoint, std::span<const WeightedLora> adapters,
              std::optional<DType> type);
  MergedModel(const MergedModel&) = delete;  // its parts point at each other
  MergedModel& operator=(const MergedModel&) = delete;

  size_t bytes() const { return bytes_; }  ///< of the file
  size_t tensors() const { return tensors_.size(); }
  /// How many matrices change, by the type that they had and the one that they get.
  const std::map<std::pair<DType, DType>, size_t>& changed() const { return changed_; }

  /// Hands out the file from beginning to end, a few MiB at a time. Throws UserError for weights
  /// that the adapter makes too large for their type, or no numbers.
  void write(const std::function<void(std::span<const std::byte>)>& to) const;

 private:
  /// Rows of a stored tensor and what stands beside them.
  struct Change {
    TensorView rows;
    const LowRank* adapter;
  };
  struct Tensor {
    TensorView stored, written;  ///< of the latter no data
    std::vector<Change> changes;
  };

  void plan(std::optional<DType> type);
  std::vector<Change> all_changes() const;
  void set_metadata(const ModelConfig& before);
  void set_angles(const ModelConfig& before, const std::string& prefix);
  void set_file_type();
  void set_number(const std::string& key, GgufType type, std::span<const std::byte> value);

  const Checkpoint& checkpoint_;
  Model model_;
  std::vector<Tensor> tensors_;
  std::vector<GgufEntry> metadata_;
  std::deque<std::string> own_texts_;  ///< that entries of metadata_ view
  std::map<std::pair<DType, DType>, size_t> changed_;
  std::string header_;
  uint64_t alignment_ = 0;
  size_t bytes_ = 0;
};

}  // namespace longhaul
