#pragma once
// Rotary position embedding (RoPE) on the device, in the half-split form of ops/attention/rope.h.

#include <cstdint>

#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Cosines and sines of consecutive positions, in device memory.
struct Rotations {
  int64_t first = 0;  ///< position of the first entry
  int64_t count = 0;
  int rotary_dim = 0;
  const float* cosine = nullptr;  ///< [count, rotary_dim / 2]
  const float* sine = nullptr;    ///< [count, rotary_dim / 2]
};

/// Computes the cosines and sines [count, half] of positions [first, first + count) in double
/// precision, multiplied by attention_factor. inverse_frequency [half] is in device memory.
void rope_angles(Stream stream, const double* inverse_frequency, int half, float attention_factor,
                 int64_t first, int64_t count, float* cosine, float* sine);

/// An array [rows, heads, head_dim] in device memory. Row r begins at x + r * stride.
struct HeadRows {
  const float* x = nullptr;
  int64_t rows = 0;
  int heads = 0, head_dim = 0;
  int64_t stride = 0;
};

/// Writes the rotated x to y. Row r of y begins at y + r * y_stride. y may alias x if their strides
/// are equal. Row r has position `position` + r, and `rotations` must contain all these positions.
/// The elements of a head from rotary_dim on are copied unchanged.
void apply_rope(Stream stream, const Rotations& rotations, int64_t position, const HeadRows& x,
                float* y, int64_t y_stride);

/// Like apply_rope(), but all rows have the position `position`.
void apply_rope_constant(Stream stream, const Rotations& rotations, int64_t position,
                         const HeadRows& x, float* y, int64_t y_stride);

}  // namespace longhaul::cuda
