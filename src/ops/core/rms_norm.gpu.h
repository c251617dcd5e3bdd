#pragma once
// Root-mean-square normalisation on the device (ops/core/rms_norm.h).

#include <cstdint>

#include "ops/core/gpu/stream.h"
#include "ops/matmul/int8_rows.gpu.h"

namespace longhaul::cuda {

/// Computes y[r, i] = x[r, i] / sqrt(mean over i of x[r, i]^2 + eps) * weight[i]. Row r of x begins
/// at x + r * stride. y [rows, n] is packed, and weight is [n]. If x is packed and y is f32, y may
/// alias x.
void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, float* y);
void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, uint16_t* y);  ///< y in bf16

/// Like rms_norm() above, with y in the formats of matrix products. n is a multiple of 32. All
/// addresses are multiples of 16 bytes.
void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, const ProductRows& y);

/// Normalises the rows of y, and adds the result times `scale` to x [rows, n]. x and y are packed.
void add_rms_norm(Stream stream, const float* y, const float* weight, float eps, float scale,
                  int64_t rows, int64_t n, float* x);

/// Normalises each head of x[token, head, i] separately, in place. Token t begins at x + t *
/// stride. weight is [head_dim].
void rms_norm_heads(Stream stream, float* x, const float* weight, float eps, int64_t tokens,
                    int heads, int head_dim, int64_t stride);

}  // namespace longhaul::cuda
