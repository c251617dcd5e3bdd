#pragma once
// Kernels of the operations in ops/ssm. They run on the calling thread.

#include <cstdint>

#include "ops/core/isa/per_isa.h"

namespace longhaul {

inline constexpr int kSsmRows = 64;  ///< largest number of rows that are computed together

/// B and C of a group of heads for some rows.
struct SsmGroup {
  int rows = 0;  ///< at most kSsmRows
  int state = 0;
  const float *b = nullptr, *c = nullptr;  ///< [rows, state]; rows begin `stride` floats apart
  int64_t stride = 0;
  float* b_turned = nullptr;  ///< [state, kSsmRows]: B transposed; prepare() writes it
  float* pairs = nullptr;     ///< [rows, kSsmRows]: dot products of the rows of C and of B;
                              ///< prepare() writes them
};

/// One head, for the rows of its group.
struct SsmHead {
  const SsmGroup* group = nullptr;
  int head_dim = 0;
  const float* x = nullptr;      ///< [rows, head_dim]; rows begin group->stride floats apart
  const float* dt = nullptr;     ///< [rows]: time steps
  const float* decay = nullptr;  ///< [rows]: logarithms of the decay of the state
  float skip = 0;
  const float* before = nullptr;  ///< state before the rows, [state, head_dim]
  float* after = nullptr;         ///< state after the rows; may be the same memory
  float* out = nullptr;           ///< [rows, head_dim]; rows begin `out_stride` floats apart
  int64_t out_stride = 0;
  float* scratch = nullptr;  ///< scratch memory for ssm_scratch() floats
};

inline int64_t ssm_scratch(int head_dim) { return kSsmRows * (int64_t{head_dim} + kSsmRows); }

struct SsmTable {
  /// prepare() computes what is the same for all heads of a group. chunk() then computes the rows
  /// of one head with matrix products. step() computes a single row and does not need prepare().
  void (*prepare)(const SsmGroup& group);
  void (*chunk)(const SsmHead& head);
  void (*step)(const SsmHead& head);
  /// Computes y[c] = f(bias[c] + sum over j < taps of x[j][c] * weight[j, c]) for each c < n, where
  /// f is silu or the identity. `bias` may be null.
  void (*convolve)(const float* const* x, const float* weight, const float* bias, int taps,
                   int64_t n, bool silu, float* y);
  void (*multiply)(const float* a, const float* b, int64_t n, float* y);  ///< y = a * b
  void (*gate)(float* x, const float* z, float scale, int64_t n);         ///< x *= silu(scale * z)
  /// RMS normalisation of x, in place.
  void (*norm)(float* x, const float* weight, float eps, int64_t n);
};

LH_PER_ISA(SsmTable, kSsm)

}  // namespace longhaul
