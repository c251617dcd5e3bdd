#pragma once
// Rows of an index of keys (what blocks are looked up by), multiplied with queries.

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/rolling_array.h"
#include "base/tensor_view.h"

namespace longhaul {

/// The elements as `type`: BF16, F32 or Q4_0 (blocks of 32; of what is no number, 0, and of what is
/// too large, KeyVectors::kLargestQ4_0).
void store_vectors(Queue& queue, View<const float> elements, DType type, View<uint8_t> to);

/// Kept as bf16, as keys mostly are, as f32 for products in f32, or in Q4_0 (18 bytes for 32
/// elements) where every token reads many.
class KeyVectors {
 public:
  /// The type for an index of keys that are kept as `keys`.
  static DType type_for(DType keys) { return keys == DType::F32 ? DType::F32 : DType::BF16; }

  /// Largest element that Q4_0 holds: its scale is an f16.
  static constexpr float kLargestQ4_0 = 4e5f;

  /// Adds elements, of Q4_0 a multiple of 32; all of one list have one type, BF16, F32 or Q4_0.
  void append(Queue& queue, View<const float> elements, DType type);
  /// Elements as they are stored, and no others.
  void assign(Queue& queue, std::span<const uint8_t> stored, DType type) {
    type_ = type;
    bytes_.assign(queue, stored);
  }
  /// More of them, on the host.
  void append_stored(std::span<const uint8_t> stored, DType type) {
    LH_ASSERT(takes(type));
    type_ = type;
    const auto to = host(bytes_.append_zeros(host_queue(), std::ssize(stored)));
    std::copy(stored.begin(), stored.end(), to.begin());
  }
  /// They are where the queue works from now on.
  void move_to(Queue& queue) { bytes_.append_zeros(queue, 0); }
  int64_t elements() const;
  size_t bytes() const { return bytes_.bytes(); }
  void clear() { bytes_.clear(); }
  /// Elements from `first` on, as f32, out.size() of them. Not of Q4_0, nor on a device.
  void read(int64_t first, std::span<float> out) const;
  DType type() const { return type_; }
  /// Whether elements of the type may be appended.
  bool takes(DType type) const { return bytes_.empty() || type == type_; }
  /// The elements as they are stored, wherever that is.
  View<const uint8_t> stored() const { return bytes_.view(); }
  /// The elements as [elements() / width, width], on the host.
  TensorView rows(int64_t width) const;

  void archive(Archive& archive);  ///< throws UserError when the file makes no sense

 private:
  DType type_ = DType::BF16;
  RollingArray<uint8_t> bytes_;
};

}  // namespace longhaul
