#pragma once
// Converts arrays of f32 to and from 16-bit floats, and to Q8_0 and Q4_0, the block formats of the
// KV store. The 16-bit results are bitwise equal to those of base/float_types.h, except for the
// payload of NaNs. ops/matmul/dequantize.h converts from all of these types to f32.

#include <cstddef>
#include <cstdint>

#include "base/float_types.h"

namespace longhaul {

void f32_to_bf16(const float* x, int64_t count, bf16_t* y);
void bf16_to_f32(const bf16_t* x, int64_t count, float* y);
void f32_to_f16(const float* x, int64_t count, f16_t* y);
void f16_to_f32(const f16_t* x, int64_t count, float* y);

/// Converts `count` numbers to GGUF's Q8_0. A block of 32 numbers is stored in 34 bytes: an f16
/// scale and 32 int8. The scale is the largest magnitude in the block, divided by 127. `count` is a
/// multiple of 32; `y` has count / 32 * 34 bytes. Numbers are rounded to nearest, ties to even.
void quantize_q8_0(const float* x, int64_t count, std::byte* y);

/// Converts `count` numbers to GGUF's Q4_0. A block of 32 numbers is stored in 18 bytes: an f16
/// scale and 16 bytes of nibbles. The scale is the number with the largest magnitude, divided by
/// -8. Byte i holds number i in the low nibble and number i + 16 in the high nibble. `count` is a
/// multiple of 32; `y` has count / 32 * 18 bytes. Numbers are rounded to nearest, ties to even.
void quantize_q4_0(const float* x, int64_t count, std::byte* y);

/// Replaces each block of 32 numbers by its Walsh-Hadamard transform, scaled by 1 / sqrt(32). The
/// scaled transform is its own inverse. `count` is a multiple of 32.
void mix_blocks(float* x, int64_t count);

}  // namespace longhaul
