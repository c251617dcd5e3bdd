#pragma once
// Root-mean-square normalisation on the device (ops/core/rms_norm.h).

#include <cstdint>

#include "ops/core/gpu/stream.h"
#include "ops/matmul/int8_rows.gpu.h"

namespace longhaul::cuda {

/// y[r, i] = x[r, i] / sqrt(mean over i of x[r, i]^2 + eps) * weight[i]; rows of x `stride` floats
/// apart, y [rows, n] packed, weight [n]. A packed f32 y may be x.
void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, float* y);
void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, uint16_t* y);  ///< bf16

/// n a multiple of 32; all at multiples of 16 bytes.
void rms_norm(Stream stream, const float* x, int64_t stride, const float* weight, float eps,
              int64_t rows, int64_t n, const ProductRows& y);

/// x [rows, n] += scale * (y, normalised), packed.
void add_rms_norm(Stream stream, const float* y, const float* weight, float eps, float scale,
                  int64_t rows, int64_t n, float* x);

/// Each head by itself, in place: x[token, head, i], tokens `stride` floats apart; weight
/// [head_dim].
void rms_norm_heads(Stream stream, float* x, const float* weight, float eps, int64_t tokens,
                    int heads, int head_dim, int64_t stride);

}  // namespace longhaul::cuda
