#pragma once
// Multiplies the vector of each head by a matrix of that head. Multi-head latent attention needs
// these products if its up-projections are absorbed into the queries and outputs (DeepSeek-V2,
// arXiv:2405.04434, section 2.1).

#include <cstddef>
#include <cstdint>

#include "base/array.h"
#include "base/dtype.h"

namespace longhaul {

/// Matrices [heads, outputs, inputs] in F32 or BF16, one per head.
struct HeadMatrices {
  View<const std::byte> numbers;
  DType type = DType::BF16;
  int64_t heads = 0, outputs = 0, inputs = 0;
  bool lies_on(Place place) const { return numbers.place() == place; }
};

/// Vectors of heads, [rows, heads, width]. In each vector, the elements from `first` on are used.
template <class T>
struct HeadNumbers {
  View<T> numbers;
  int64_t width = 0, first = 0;
  bool lies_on(Place place) const { return numbers.place() == place; }
};

/// Computes y[r, h, o] = sum over i of x[r, h, i] * w[h, o, i].
void multiply_heads(Queue& queue, int64_t rows, const HeadMatrices& w,
                    const HeadNumbers<const float>& x, const HeadNumbers<float>& y);
inline const DeviceOperation<bool(int64_t, const HeadMatrices&, const HeadNumbers<const float>&,
                                  const HeadNumbers<float>&)>
    kMultiplyHeads;

}  // namespace longhaul
