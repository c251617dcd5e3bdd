#pragma once
// Converts arrays of f32 to and from 16-bit floats and Q8_0, and to Q4_0. Q8_0 and Q4_0 are the
// block formats of the KV store. 16-bit results equal base/float_types.h bit by bit, except for the
// payload of NaNs. dequantize.h reads all of these types.

#include <cstddef>
#include <cstdint>

#include "base/float_types.h"

namespace longhaul {

void f32_to_bf16(const float* x, int64_t count, bf16_t* y);
void bf16_to_f32(const bf16_t* x, int64_t count, float* y);
void f32_to_f16(const float* x, int64_t count, f16_t* y);
void f16_to_f32(const f16_t* x, int64_t count, float* y);

/// Converts `count` values to GGUF's Q8_0. A block of 32 values has an f16 scale (amax / 127) and
/// 32 int8, in 34 bytes. `count` is a multiple of 32; `y` has count / 32 * 34 bytes. Values are
/// rounded to nearest, ties to even.
void quantize_q8_0(const float* x, int64_t count, std::byte* y);

/// Converts `count` values to GGUF's Q4_0. A block of 32 values takes 18 bytes: an f16 scale and 16
/// bytes of nibbles. The scale is the value with the largest magnitude, divided by -8. Byte i holds
/// value i in the low nibble and value i + 16 in the high nibble. `count` is a multiple of 32; `y`
/// has count / 32 * 18 bytes. Values are rounded to nearest, ties to even.
void quantize_q4_0(const float* x, int64_t count, std::byte* y);

/// Replaces each block of 32 values by its Walsh-Hadamard transform, scaled by 1 / sqrt(32). The
/// scaled transform is its own inverse. `count` is a multiple of 32.
void mix_blocks(float* x, int64_t count);

}  // namespace longhaul
