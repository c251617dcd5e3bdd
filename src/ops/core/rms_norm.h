#pragma once
// Root-mean-square normalisation (Zhang and Sennrich 2019, arXiv:1910.07467).

#include <cstdint>

#include "base/float_types.h"

namespace longhaul {

/// Computes y[r, i] = x[r, i] / sqrt(mean over i of x[r, i]^2 + eps) * weight[i]. x and y are
/// contiguous arrays [rows, n], and weight is [n]. y may be x.
void rms_norm(const float* x, const float* weight, float eps, int64_t rows, int64_t n, float* y);
void rms_norm(const float* x, const float* weight, float eps, int64_t rows, int64_t n, bf16_t* y);

/// Normalises each head of queries or keys x[token, head, i] in place. Token t begins at
/// x + t * token_stride. token_stride may exceed heads * head_dim, so that x can be a range of
/// columns of the result of a fused projection. weight is [head_dim].
void rms_norm_heads(float* x, const float* weight, float eps, int64_t tokens, int64_t heads,
                    int64_t head_dim, int64_t token_stride);

}  // namespace longhaul
