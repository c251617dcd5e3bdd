#pragma once
// The quantized types as device code reads them from planes (block_layout.h). A unit is what 16
// bytes of quants and what belongs to them say: kGroups groups of 16 weights,
//   weight = step * (q - kZero) + offset,
// with q signed bytes in the order of the row; only types with kOffset have an offset. Products of
// step and q are exact in f32. Layouts: GGUF, ggml-common.h.

#include "base/dtype.h"
#include "ops/matmul/block_units256.h"
#include "ops/matmul/block_units32.h"
#include "ops/matmul/block_units_iq.h"

namespace longhaul::cuda {

/// Calls f(Units{}) for the block type; false when there is no such.
template <class F>
bool with_units(DType type, F&& f) {
  return with_one_of(Units32{}, type, f) || with_one_of(Units256{}, type, f) ||
         with_one_of(UnitsOfBooks{}, type, f);
}

/// Group k of unit u. `book` is read by types that have one.
template <class Units>
LH_EVERYWHERE Weights16 weights_of(const typename Units::Unit& x, int u, int k,
                                   const uint32_t* book) {
  if constexpr (Units::kBook > 0) {
    return Units::weights(x, u, k, book);
  } else {
    return Units::weights(x, u, k);
  }
}

/// A weight as f32: exact products, one rounding.
template <class Units>
LH_EVERYWHERE float weight_of(const Weights16& w, int i) {
  const int q = signed_byte(w.q[i / 4], i % 4) - Units::kZero;
  return w.step * static_cast<float>(q) + w.offset;
}

/// `total` and what a weight group adds to y: activations of the group in int8 with their scale and
/// the sum of scale * q (ops/matmul/matvec.h).
template <class Units>
LH_EVERYWHERE float group_product(const Weights16& w, const Word4& x, float scale, float sum,
                                  float total) {
  // The dot product begins as the bits of 1.5 * 2^23, so that it becomes a float by a subtraction.
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
