#pragma once
// Measures matrix products of the GEMM library (oneDNN), as a reference for the engine's own
// products.

#include <cstdint>

namespace longhaul {

/// The product C[m, n] = A[m, k] B[k, n].
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
};

enum class GemmType : uint8_t { kF32, kBf16 };

/// Returns the FLOP/s of the fastest of several runs within `seconds`, on all threads. B is in the
/// library's preferred format; the conversion is not timed. C is f32. Returns 0 if the library does
/// not support the type on this machine.
double library_gemm_flops(const GemmShape& shape, GemmType type, double seconds);

}  // namespace longhaul
