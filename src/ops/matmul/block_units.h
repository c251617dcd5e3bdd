#pragma once
// Block types as device code reads them from planes (block_layout.h). A unit consists of 16 bytes
// of quants, together with the scales and high bits that belong to them. It holds kGroups groups of
// 16 weights:
//   weight = step * (q - kZero) + offset
// The signed bytes q of a group are in the order of the weights in the row. Only types with kOffset
// have an offset. The product of step and q is exact in f32. The blocks have the layouts of GGUF
// (ggml-common.h).

#include "base/dtype.h"
#include "ops/matmul/block_units256.h"
#include "ops/matmul/block_units32.h"
#include "ops/matmul/block_units_iq.h"

namespace longhaul::cuda {

/// Calls f(Units{}) for the Units of a block type. Returns false for other types.
template <class F>
bool with_units(DType type, F&& f) {
  return with_one_of(Units32{}, type, f) || with_one_of(Units256{}, type, f) ||
         with_one_of(UnitsOfBooks{}, type, f);
}

/// Returns the weights of group k of unit u. Only types with a code book use `book`.
template <class Units>
LH_EVERYWHERE Weights16 weights_of(const typename Units::Unit& x, int u, int k,
                                   const uint32_t* book) {
  if constexpr (Units::kBook > 0) {
    return Units::weights(x, u, k, book);
  } else {
    return Units::weights(x, u, k);
  }
}

/// Returns weight i of the group as f32. The product with the step is exact, and the sum with the
/// offset is rounded once.
template <class Units>
LH_EVERYWHERE float weight_of(const Weights16& w, int i) {
  const int q = signed_byte(w.q[i / 4], i % 4) - Units::kZero;
  return w.step * static_cast<float>(q) + w.offset;
}

/// Returns `total` plus the contribution of a group of weights to y. x holds the int8 activations q
/// of the group, `scale` is their scale, and `sum` is the sum of scale * q (ops/matmul/matvec.h).
template <class Units>
LH_EVERYWHERE float group_product(const Weights16& w, const Word4& x, float scale, float sum,
                                  float total) {
  // The dot product starts at the bits of the float 1.5 * 2^23, so that one subtraction converts it
  // to a float.
  int dot = 0x4b400000;
  for (int i = 0; i < 4; ++i) dot = dot4(w.q[i], x.w[i], dot);
  total += w.step * scale * (float_of(static_cast<uint32_t>(dot)) - 12582912.0f);
  if constexpr (Units::kZero != 0) {
    total += -static_cast<float>(Units::kZero) * w.step * sum;
  }
  if constexpr (Units::kOffset) total += w.offset * sum;
  return total;
}

}  // namespace longhaul::cuda
