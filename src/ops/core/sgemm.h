#pragma once
// Multiplies f32 matrices through the GEMM library, on the calling thread.

#include <cstdint>

namespace longhaul {

/// An operand of a matrix product. Row i begins at data + i * stride. If `transposed` is true,
/// column i begins there instead.
struct Factor {
  const float* data = nullptr;
  int64_t stride = 0;
  bool transposed = false;
};

/// Computes c[m, n] = a[m, k] * b[k, n], or adds the product to c if `add` is true. Row i of c
/// begins at c + i * c_stride.
void sgemm(int64_t m, int64_t n, int64_t k, Factor a, Factor b, float* c, int64_t c_stride,
           bool add = false);

}  // namespace longhaul
