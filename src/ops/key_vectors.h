#pragma once
// Rows of an index of keys (what blocks are looked up by), multiplied with queries.

#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "base/dtype.h"
#include "base/host_stage.h"
#include "base/huge_pages.h"
#include "base/tensor_view.h"

namespace longhaul {

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
  int64_t elements() const;
  size_t bytes() const { return bytes_.size(); }
  void clear() { bytes_.clear(); }
  /// Elements from `first` on, as f32, out.size() of them. Not of Q4_0.
  void read(Queue& queue, int64_t first, View<float> out) const;
  DType type() const { return type_; }
  /// Whether elements of the type may be appended.
  bool takes(DType type) const { return bytes_.empty() || type == type_; }
  /// The elements as [elements() / width, width].
  TensorView rows(int64_t width) const;

  void archive(Archive& archive);  ///< throws UserError when the file makes no sense

 private:
  DType type_ = DType::BF16;
  std::vector<uint8_t, HugePageAllocator<uint8_t>> bytes_;
};

}  // namespace longhaul
