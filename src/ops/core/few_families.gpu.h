#pragma once
// GPU implementations of operations that only a few model families use: ops/core/layer_norm.h,
// ops/core/ungated.h, ops/core/columns.h and ops/attention/latent_keys.h.

#include <cstdint>

#include "ops/attention/latent_keys.h"
#include "ops/core/gpu/stream.h"
#include "ops/core/ungated.h"

namespace longhaul::cuda {

/// Applies layer normalisation to the rows of x and writes the result to y. x and y are contiguous
/// arrays [rows, n]. y may be x.
void layer_norm(Stream stream, const float* x, const float* weight, float eps, int64_t rows,
                int64_t n, float* y);
void activate(Stream stream, Ungated function, const Xielu& xielu, float* x, int64_t count);
void copy_row_columns(Stream stream, const float* from, int64_t from_stride, float* to,
                      int64_t to_stride, int64_t rows, int64_t count);
/// Multiplies each row of x [rows, width] by `factors`, element by element.
void multiply_columns(Stream stream, const float* factors, int64_t width, float* x, int64_t rows);
void latent_keys(Stream stream, const LatentKeys& shape, const float* products, const float* weight,
                 float* keys);

}  // namespace longhaul::cuda
