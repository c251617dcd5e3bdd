#pragma once
// Rotary position embedding on the device, half-split form (ops/attention/rope.h).

#include <cstdint>

#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Cosines and sines of consecutive positions, in device memory.
struct Rotations {
  int64_t first = 0;  ///< position of entry 0
  int64_t count = 0;
  int rotary_dim = 0;
  const float* cosine = nullptr;  ///< [count, rotary_dim / 2]
  const float* sine = nullptr;    ///< [count, rotary_dim / 2]
};

/// Computes cosine and sine [count, half] of positions [first, first + count), multiplied by
/// attention_factor. Angles and functions are in double precision. inverse_frequency [half] is
/// device memory.
void rope_angles(Stream stream, const double* inverse_frequency, int half, float attention_factor,
                 int64_t first, int64_t count, float* cosine, float* sine);

/// An array [rows, heads, head_dim] in device memory, with rows `stride` floats apart.
struct HeadRows {
  const float* x = nullptr;
  int64_t rows = 0;
  int heads = 0, head_dim = 0;
  int64_t stride = 0;
};

/// Writes the rotated x to y, with rows of y y_stride floats apart. y may alias x if their strides
/// are equal. Row r has position `position` + r. Elements past rotary_dim are copied. The rotations
/// must cover the positions.
void apply_rope(Stream stream, const Rotations& rotations, int64_t position, const HeadRows& x,
                float* y, int64_t y_stride);

/// Rotates all rows by one position.
void apply_rope_constant(Stream stream, const Rotations& rotations, int64_t position,
                         const HeadRows& x, float* y, int64_t y_stride);

}  // namespace longhaul::cuda
