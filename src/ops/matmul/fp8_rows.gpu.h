#pragma once
// Rows of 8-bit floats for products with many rows: e4m3, with four bits of exponent and three of
// fraction (Micikevicius et al. 2022, arXiv:2209.05433), times a scale that takes a row's largest
// number to the largest of the type, 448.

#include <cstddef>
#include <cstdint>

#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

struct Fp8Rows {
  uint8_t* numbers = nullptr;  ///< [rows, cols], packed; null: there are none
  float* scales = nullptr;     ///< [rows]: what a row's numbers are to be multiplied by
};

/// Products take multiples of so many columns and outputs.
inline constexpr int64_t kFp8Multiple = 16;

/// Memory of rows, and its parts.
inline size_t fp8_bytes(int64_t rows, int64_t cols) {
  return static_cast<size_t>((rows * cols + 255) / 256 * 256) +
         static_cast<size_t>(rows) * sizeof(float);
}
inline Fp8Rows fp8_rows_in(void* memory, int64_t rows, int64_t cols) {
  auto* const numbers = static_cast<uint8_t*>(memory);
  return {numbers, reinterpret_cast<float*>(numbers + (rows * cols + 255) / 256 * 256)};
}

/// x [rows, cols] in bf16, rows x_stride elements apart, rounded; cols and x_stride are multiples
/// of 8. NaN stays NaN. For compute capability 8.9 and later.
void round_to_fp8(Stream stream, const uint16_t* x, int64_t x_stride, int64_t rows, int64_t cols,
                  const Fp8Rows& to);

}  // namespace longhaul::cuda
