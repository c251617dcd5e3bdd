#pragma once
// Stores the vectors of an index of keys, which are multiplied by queries.

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/rolling_array.h"
#include "base/tensor_view.h"

namespace longhaul {

/// Converts elements to `type` and stores them: BF16, F32 or Q4_0 (blocks of 32). In Q4_0, NaN
/// becomes 0, and values that are too large become KeyVectors::kLargestQ4_0.
void store_vectors(Queue& queue, View<const float> elements, DType type, View<uint8_t> to);
inline const DeviceOperation<bool(View<const float>, DType, View<uint8_t> to)> kStoreVectors;

/// Stores queries in bf16 for operations of a device that read them several times
/// (AttendCall::rounded). Operations of the host do not need them, and `memory` stays empty.
void round_for_device(Queue& queue, View<const float> queries, Array<uint8_t>& memory);

/// A list of vectors in bf16 (like most keys), in f32 (for f32 products), or in Q4_0. Q4_0 takes 18
/// bytes for 32 elements, and is used if every token reads many vectors.
class KeyVectors {
 public:
  /// Returns the index type for keys stored as `keys`.
  static DType type_for(DType keys) { return keys == DType::F32 ? DType::F32 : DType::BF16; }

  /// Largest element that Q4_0 can represent. It is limited by the scale, which is an f16.
  static constexpr float kLargestQ4_0 = 4e5f;

  /// Appends elements. In Q4_0, their number must be a multiple of 32. All elements of a list must
  /// have the same type.
  void append(Queue& queue, View<const float> elements, DType type);
  /// Replaces all elements by elements that are already in stored form.
  void assign(Queue& queue, std::span<const uint8_t> stored, DType type) {
    type_ = type;
    bytes_.assign(queue, stored);
  }
  /// Appends elements that are already in stored form. The list must be on the host.
  void append_stored(std::span<const uint8_t> stored, DType type) {
    LH_ASSERT(takes(type));
    type_ = type;
    const auto to = host(bytes_.append_zeros(host_queue(), std::ssize(stored)));
    std::copy(stored.begin(), stored.end(), to.begin());
  }
  /// Moves the elements to the queue's device.
  void move_to(Queue& queue) { bytes_.append_zeros(queue, 0); }
  int64_t elements() const;
  size_t bytes() const { return bytes_.bytes(); }
  void clear() { bytes_.clear(); }
  /// Reads elements [first, first + out.size()) as f32. This is not supported for Q4_0, nor on a
  /// device.
  void read(int64_t first, std::span<float> out) const;
  DType type() const { return type_; }
  /// Returns whether elements of the type may be appended.
  bool takes(DType type) const { return bytes_.empty() || type == type_; }
  /// Returns the stored elements, on the device where they are.
  View<const uint8_t> stored() const { return bytes_.view(); }
  /// Returns the elements as a matrix [elements() / width, width]. The list must be on the host.
  TensorView rows(int64_t width) const;

  void archive(Archive& archive);  ///< throws UserError if the file is invalid

 private:
  DType type_ = DType::BF16;
  RollingArray<uint8_t> bytes_;
};

}  // namespace longhaul
