#pragma once
// Matrix products of the GEMM library (oneDNN) alone, as the reference for the engine's own.

#include <cstdint>

namespace longhaul {

/// C[m, n] = A[m, k] B[k, n].
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
};

enum class GemmType : uint8_t { kF32, kBf16 };

/// FLOP/s of the fastest of several runs within `seconds`, on all threads. B is in the library's
/// preferred format (packed beforehand, not timed); C is f32. Returns 0 if the library does not
/// support the type here.
double library_gemm_flops(const GemmShape& shape, GemmType type, double seconds);

}  // namespace longhaul
