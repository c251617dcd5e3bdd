#pragma once
// Kernels of the operations in ops/delta/delta_rule.h. They run on the calling thread.

#include <cstdint>

#include "ops/core/isa/per_isa.h"

namespace longhaul {

inline constexpr int kDeltaRows = 64;  ///< largest number of rows that chunk() computes together

/// Arguments of chunk() and step(), for one value head. `decay` and `beta` have one number per row.
/// The queries are already scaled.
struct DeltaHead {
  int rows = 0;  ///< at most kDeltaRows for chunk(), and 1 for step()
  int key_dim = 0, value_dim = 0;
  const float *q = nullptr, *k = nullptr;  ///< [rows, key_dim], contiguous and normalised to length
                                           ///< 1
  const float* v = nullptr;                ///< [rows, value_dim]; rows begin `stride` floats apart
  int64_t stride = 0;
  const float* decay = nullptr;   ///< [rows]: logarithm of the decay of the state (g of
                                  ///< delta_rule())
  const float* beta = nullptr;    ///< [rows]: weight of the new value, after the sigmoid
  const float* before = nullptr;  ///< state before the rows, [key_dim, value_dim]
  float* after = nullptr;         ///< state after the rows, [key_dim, value_dim]
  float* out = nullptr;           ///< [rows, value_dim]; rows begin `out_stride` floats apart
  int64_t out_stride = 0;
  float* scratch = nullptr;  ///< scratch memory for delta_scratch() floats
};

inline int64_t delta_scratch(int key_dim, int value_dim) {
  return kDeltaRows * (int64_t{key_dim} + value_dim + 2 * kDeltaRows);
}

struct DeltaTable {
  /// chunk() computes up to kDeltaRows rows with matrix products. step() computes one row.
  void (*chunk)(const DeltaHead& head);
  void (*step)(const DeltaHead& head);
  /// Computes y = x / sqrt(sum of x^2 + 1e-6) * scale.
  void (*unit)(const float* x, int64_t n, float scale, float* y);
  void (*gated_norm)(float* x, const float* gate, const float* weight, float eps, int64_t n);
  /// Multiplies x[i] by sigmoid(gate[i]) for each i < n.
  void (*sigmoid)(float* x, const float* gate, int64_t n);
};

LH_PER_ISA(DeltaTable, kDelta)

}  // namespace longhaul
