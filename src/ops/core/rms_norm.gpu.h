#pragma once
// Root-mean-square normalisation on the device (ops/core/rms_norm.h).

#include <cstdint>

#include "ops/core/gpu/stream.h"
#include "ops/matmul/int8_rows.gpu.h"

namespace longhaul::cuda {

/// Computes y[r, i] = x[r, i] / sqrt(mean over i of x[r, i]^2 + eps) * weight[i]. Row r of x begins
/// at x + r * stride. y is a contiguous array [rows, n] in f32 or bf16, and weight is [n]. If
/// stride == n and y is f32, y may alias x.
void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, float* y);
void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, uint16_t* y);  ///< y in bf16

/// Like rms_norm() above, but writes y in the formats that matrix products read. n must be a
/// multiple of 32, and all addresses multiples of 16 bytes.
void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, const ProductRows& y);

/// Adds `scale` times the normalised rows of y to x, without changing y. x and y are contiguous
/// arrays [rows, n].
void add_rms_norm(Stream stream, const float* y, const float* weight, float eps, float scale,
                  int64_t rows, int64_t n, float* x);

/// Normalises each head of x[token, head, i] separately, in place. Token t begins at
/// x + t * stride. weight is [head_dim].
void rms_norm_heads(Stream stream, float* x, const float* weight, float eps, int64_t tokens,
                    int heads, int head_dim, int64_t stride);

}  // namespace longhaul::cuda
