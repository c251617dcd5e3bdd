#pragma once
// Single-thread kernels of the operations in ops/delta/delta_rule.h.

#include <cstdint>

#include "ops/core/isa/per_isa.h"

namespace longhaul {

inline constexpr int kDeltaRows = 64;  ///< largest number of rows that chunk() computes together

/// Arguments of chunk() and step(), for one value head. `decay` and `beta` have one value per row.
/// The queries are already scaled.
struct DeltaHead {
  int rows = 0;  ///< at most kDeltaRows
  int key_dim = 0, value_dim = 0;
  const float *q = nullptr, *k = nullptr;  ///< [rows, key_dim], packed and normalised
  const float* v = nullptr;                ///< [rows, value_dim], `stride` floats apart
  int64_t stride = 0;
  const float* decay = nullptr;  ///< [rows], g of delta_rule(): logarithm of the decay of the state
  const float* beta = nullptr;   ///< [rows], after the sigmoid: weight of the new value
  const float* before = nullptr;  ///< state before the rows, [key_dim, value_dim]
  float* after = nullptr;         ///< state after the rows, [key_dim, value_dim]
  float* out = nullptr;           ///< [rows, value_dim], `out_stride` floats apart
  int64_t out_stride = 0;
  float* scratch = nullptr;  ///< delta_scratch() floats
};

inline int64_t delta_scratch(int key_dim, int value_dim) {
  return kDeltaRows * (int64_t{key_dim} + value_dim + 2 * kDeltaRows);
}

struct DeltaTable {
  /// chunk() processes up to kDeltaRows rows with matrix products. step() processes one row.
  void (*chunk)(const DeltaHead& head);
  void (*step)(const DeltaHead& head);
  /// Computes y = x / sqrt(sum x^2 + 1e-6) * scale.
  void (*unit)(const float* x, int64_t n, float scale, float* y);
  void (*gated_norm)(float* x, const float* gate, const float* weight, float eps, int64_t n);
  /// Computes x[i] *= sigmoid(gate[i]) for i below n.
  void (*sigmoid)(float* x, const float* gate, int64_t n);
};

LH_PER_ISA(DeltaTable, kDelta)

}  // namespace longhaul
