#pragma once
// Stores vectors that stand for keys in an index. Queries are multiplied by them to find keys.

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/rolling_array.h"
#include "base/tensor_view.h"

namespace longhaul {

/// Converts elements to `type` (BF16, F32 or Q4_0) and stores them. In Q4_0, which has blocks of 32
/// elements, NaN becomes 0, and numbers that are too large become KeyVectors::kLargestQ4_0.
void store_vectors(Queue& queue, View<const float> elements, DType type, View<uint8_t> to);
inline const DeviceOperation<bool(View<const float>, DType, View<uint8_t> to)> kStoreVectors;

/// Stores queries in bf16 for operations of a device that read them several times
/// (AttendCall::rounded). On the host, `memory` stays empty, because no operation reads it.
void round_for_device(Queue& queue, View<const float> queries, Array<uint8_t>& memory);

/// An array of vectors in bf16 (as most keys are), in f32 (for products in f32), or in Q4_0. Q4_0
/// needs 18 bytes for 32 elements, and is used if many vectors are read for every token.
class KeyVectors {
 public:
  /// Returns the type of vectors for keys that are stored as `keys`.
  static DType type_for(DType keys) { return keys == DType::F32 ? DType::F32 : DType::BF16; }

  /// Largest number that Q4_0 can represent. The scale, an f16, limits it.
  static constexpr float kLargestQ4_0 = 4e5f;

  /// Converts elements to `type` and appends them. In Q4_0, their number must be a multiple of 32.
  /// All elements of an object must have the same type.
  void append(Queue& queue, View<const float> elements, DType type);
  /// Replaces all elements by `stored`, elements that are already in the stored format of `type`.
  void assign(Queue& queue, std::span<const uint8_t> stored, DType type) {
    type_ = type;
    bytes_.assign(queue, stored);
  }
  /// Appends elements that are already in the stored format of `type`. The elements of this object
  /// must be on the host.
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
  /// Reads elements [first, first + out.size()) as f32. Elements in Q4_0 and elements on a device
  /// cannot be read.
  void read(int64_t first, std::span<float> out) const;
  DType type() const { return type_; }
  /// Returns whether elements of this type may be appended.
  bool takes(DType type) const { return bytes_.empty() || type == type_; }
  /// Returns the stored elements in the memory where they are.
  View<const uint8_t> stored() const { return bytes_.view(); }
  /// Returns the elements as a matrix [elements() / width, width]. They must be on the host.
  TensorView rows(int64_t width) const;

  void archive(Archive& archive);  ///< throws UserError if the file has invalid contents

 private:
  DType type_ = DType::BF16;
  RollingArray<uint8_t> bytes_;
};

}  // namespace longhaul
