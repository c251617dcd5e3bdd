#pragma once
// Computes products of f32 matrices through the GEMM library, on the calling thread.

#include <cstdint>

namespace longhaul {

/// An operand of a product. Its rows, or its columns if transposed, are `stride` floats apart.
struct Factor {
  const float* data = nullptr;
  int64_t stride = 0;
  bool transposed = false;
};

/// Computes c[m, n] = a[m, k] * b[k, n], or adds the product to c with `add`. Rows of c are
/// c_stride floats apart.
void sgemm(int64_t m, int64_t n, int64_t k, Factor a, Factor b, float* c, int64_t c_stride,
           bool add = false);

}  // namespace longhaul
