#pragma once
// Rows of 8-bit floats for prefill products. The format is e4m3, with four bits of exponent and
// three of fraction (Micikevicius et al. 2022, arXiv:2209.05433). Each row has a scale that maps
// its largest magnitude to the format's largest, 448.

#include <cstddef>
#include <cstdint>

#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

struct Fp8Rows {
  uint8_t* numbers = nullptr;  ///< [rows, cols], packed; null: absent
  float* scales = nullptr;     ///< [rows]: factors of the rows' values
};

/// The numbers of columns and of outputs of a product must be multiples of this.
inline constexpr int64_t kFp8Multiple = 16;

/// Returns the memory size of rows in bytes. The next function returns the rows that lie in such
/// memory.
inline size_t fp8_bytes(int64_t rows, int64_t cols) {
  return static_cast<size_t>((rows * cols + 255) / 256 * 256) +
         static_cast<size_t>(rows) * sizeof(float);
}
inline Fp8Rows fp8_rows_in(void* memory, int64_t rows, int64_t cols) {
  auto* const numbers = static_cast<uint8_t*>(memory);
  return {numbers, reinterpret_cast<float*>(numbers + (rows * cols + 255) / 256 * 256)};
}

/// Rounds x [rows, cols] in bf16, with rows x_stride elements apart. cols and x_stride are
/// multiples of 8. NaN stays NaN. Needs compute capability 8.9 or later.
void round_to_fp8(Stream stream, const uint16_t* x, int64_t x_stride, int64_t rows, int64_t cols,
                  const Fp8Rows& to);

}  // namespace longhaul::cuda
