#pragma once
// Operations of a gated delta net (Yang et al. 2024, arXiv:2412.06464) on the rows of one sequence,
// in f32. `before` is the state of a layer (DeltaShape::state()) before the first row, and `after`
// its state after the last row. Both may be the same memory. Rows are contiguous unless a stride is
// given.

#include <cstdint>

#include "ops/delta/delta_shape.h"

namespace longhaul {

/// Applies the short convolution and silu to queries, keys and values
/// (ops/ssm/short_convolution.h). x and y are [rows, channels] and must not overlap. weight is
/// [kernel, channels].
void short_convolution(const DeltaShape& shape, const float* x, const float* weight, int64_t rows,
                       const float* before, float* after, float* y);

/// Inputs of delta_rule() for `rows` rows.
struct DeltaRows {
  int64_t rows = 0;
  const float* qkv = nullptr;      ///< [rows, channels], output of short_convolution()
  const float* beta = nullptr;     ///< [rows, value_heads]: weight of the new value, before the
                                   ///< sigmoid
  const float* alpha = nullptr;    ///< [rows, value_heads]: input of the decay
  int64_t stride = 0;              ///< floats between the beginnings of two rows of beta, and of
                                   ///< alpha
  const float* dt_bias = nullptr;  ///< [value_heads]; added to alpha
  const float* rate = nullptr;     ///< [value_heads]; negative factor of the decay
};

/// For every row and value head, normalises q and k to length 1 and divides q by sqrt(key_dim).
/// Then updates the state S [key_dim, value_dim] and computes the output: S = exp(g) S; S += k
/// (sigmoid(beta) (v - S^T k))^T; out = S^T q. Here g = rate * log(1 + e^(alpha + dt_bias)). Many
/// rows are computed in groups of 64 with matrix products. out is [rows, value_heads * value_dim].
void delta_rule(const DeltaShape& shape, const DeltaRows& in, const float* before, float* after,
                float* out);

/// Replaces every head of x by rms_norm(head) * weight * silu(gate). x and gate are [rows,
/// heads * size]. Row r of gate begins at gate + r * stride. weight is [size].
void gated_norm(float* x, const float* gate, int64_t stride, const float* weight, float eps,
                int64_t rows, int64_t heads, int64_t size);

/// Multiplies x[i] by sigmoid(gate[i]) for each i < count.
void multiply_by_sigmoid(float* x, const float* gate, int64_t count);

/// Adds sigmoid(gate[r]) * x[r, i] to y[r, i]. x and y are contiguous arrays [rows, n].
void add_gated(float* y, const float* x, const float* gate, int64_t rows, int64_t n);

}  // namespace longhaul
