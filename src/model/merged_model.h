#pragma once
// MergedModel writes a model as a GGUF file, with LoRA adapters merged into the weights. Other
// programs that read GGUF can then run the model without support for adapters.

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

/// In the merged model, every matrix W with an adapter (A, B) is replaced by W + scale * B * A. All
/// other tensors are copied unchanged. If the adapters specify a RoPE base or a trained context
/// length, it replaces that of the model in the metadata.
class MergedModel {
 public:
  /// Plans the file without reading weights. The checkpoint must be a GGUF file (for Hugging Face
  /// folders see merged_folder.h). The checkpoint and the adapters must outlive this object. `type`
  /// is the type of changed matrices: F32, F16, BF16 or Q8_0. If it is not given, matrices in one
  /// of these types keep their type, and all others become Q8_0. 4-bit types are not supported,
  /// because rounding to 4 bits would remove most of an adapter's effect. Throws a UserError that
  /// names the file and the reason if an adapter does not belong to the model, or if rows do not
  /// consist of whole blocks of the type.
  MergedModel(const Checkpoint& checkpoint, std::span<const WeightedLora> adapters,
              std::optional<DType> type);
  // The object cannot be copied or moved, because members point to each other.
  MergedModel(const MergedModel&) = delete;
  MergedModel& operator=(const MergedModel&) = delete;

  size_t bytes() const { return bytes_; }  ///< returns the size of the file
  size_t tensors() const { return tensors_.size(); }
  const ChangedTypes& changed() const { return changed_; }
  /// Writes the whole file to `to`.
  void write(const ByteSink& to) const;

 private:
  void plan(std::optional<DType> type);
  std::vector<TensorView> written() const;  ///< returns the tensors of the file, without data
  void set_metadata(const ModelConfig& before);
  void set_angles(const ModelConfig& before, const std::string& prefix);
  void set_file_type();
  void set_number(const std::string& key, GgufType type, std::span<const std::byte> value);

  const Checkpoint& checkpoint_;
  Model model_;
  std::vector<MergedTensor> tensors_;
  std::vector<GgufEntry> metadata_;
  std::deque<std::string> own_texts_;  ///< strings that entries of metadata_ point to
  ChangedTypes changed_;
  std::string header_;
  uint64_t alignment_ = 0;
  size_t bytes_ = 0;
};

}  // namespace longhaul
