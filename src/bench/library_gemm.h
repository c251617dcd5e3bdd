#pragma once
// Measures the speed of matrix multiplication in the library oneDNN. Longhaul's own matrix
// multiplication is compared with it.

#include <cstdint>

namespace longhaul {

/// The sizes of a matrix multiplication C[m, n] = A[m, k] B[k, n].
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
};

enum class GemmType : uint8_t { kF32, kBf16 };

/// Returns the FLOP/s of the fastest of several multiplications within `seconds`, on all threads. B
/// is converted to the library's preferred format before the measurement. C is f32. Returns 0 if
/// the library does not support the type on this machine.
double library_gemm_flops(const GemmShape& shape, GemmType type, double seconds);

}  // namespace longhaul
