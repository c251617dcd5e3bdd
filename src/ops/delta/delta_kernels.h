#pragma once
// Single-thread kernels of ops/delta/delta_rule.h.

#include <cstdint>

#include "ops/core/isa/per_isa.h"

namespace longhaul {

inline constexpr int kDeltaRows = 64;  ///< rows that are computed together

/// One value head. Decays and shares are those of the rows; the queries are scaled.
struct DeltaHead {
  int rows = 0;  ///< at most kDeltaRows
  int key_dim = 0, value_dim = 0;
  const float *q = nullptr, *k = nullptr;  ///< [rows, key_dim], packed and normalised
  const float* v = nullptr;                ///< [rows, value_dim], `stride` floats apart
  int64_t stride = 0;
  const float* decay = nullptr;  ///< [rows]: g
  const float* beta = nullptr;   ///< [rows]
  const float* before = nullptr;
  float* after = nullptr;  ///< [key_dim, value_dim]
  float* out = nullptr;    ///< [rows, value_dim], `out_stride` floats apart
  int64_t out_stride = 0;
  float* scratch = nullptr;  ///< delta_scratch() floats
};

inline int64_t delta_scratch(int key_dim, int value_dim) {
  return kDeltaRows * (int64_t{key_dim} + value_dim + 2 * kDeltaRows);
}

struct DeltaTable {
  /// Any number of rows by products of matrices, and one row.
  void (*chunk)(const DeltaHead& head);
  void (*step)(const DeltaHead& head);
  /// y[c] = silu(sum over j < taps of x[j][c] * weight[j, c]), for n channels.
  void (*convolve)(const float* const* x, const float* weight, int taps, int64_t n, float* y);
  /// y = x / sqrt(sum x^2 + 1e-6) * scale.
  void (*unit)(const float* x, int64_t n, float scale, float* y);
  void (*gated_norm)(float* x, const float* gate, const float* weight, float eps, int64_t n);
  void (*sigmoid)(float* x, const float* gate, int64_t n);  ///< x *= sigmoid(gate)
};

LH_PER_ISA(DeltaTable, kDelta)

}  // namespace longhaul
