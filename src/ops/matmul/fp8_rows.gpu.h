#pragma once
// Rows of 8-bit floats, which prefill products read. The format is e4m3, which has four bits of
// exponent and three bits of fraction (Micikevicius et al. 2022, arXiv:2209.05433). Each row has a
// scale that maps its largest magnitude to 448, the largest number of the format.

#include <cstddef>
#include <cstdint>

#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

struct Fp8Rows {
  uint8_t* numbers = nullptr;  ///< [rows, cols], contiguous; null: there are none
  float* scales = nullptr;     ///< [rows]: factors by which the numbers of each row are multiplied
};

/// The numbers of columns and of outputs of a product of 8-bit floats must be multiples of this
/// number.
inline constexpr int64_t kFp8Multiple = 16;

/// Returns the size in bytes of the memory for such rows. fp8_rows_in() returns the Fp8Rows in this
/// memory.
inline size_t fp8_bytes(int64_t rows, int64_t cols) {
  return static_cast<size_t>((rows * cols + 255) / 256 * 256) +
         static_cast<size_t>(rows) * sizeof(float);
}
inline Fp8Rows fp8_rows_in(void* memory, int64_t rows, int64_t cols) {
  auto* const numbers = static_cast<uint8_t*>(memory);
  return {numbers, reinterpret_cast<float*>(numbers + (rows * cols + 255) / 256 * 256)};
}

/// Rounds x [rows, cols], which is bf16, to 8-bit floats. Rows of x begin x_stride elements apart.
/// cols and x_stride are multiples of 8. NaN stays NaN. This requires compute capability 8.9 or
/// later.
void round_to_fp8(Stream stream, const uint16_t* x, int64_t x_stride, int64_t rows, int64_t cols,
                  const Fp8Rows& to);

}  // namespace longhaul::cuda
