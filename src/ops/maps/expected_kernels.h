#pragma once
// Interface of query_moments.cc and expected_attention.cc to the kernels of an ISA level.

#include "ops/attention/attention_kernels.h"

namespace longhaul {

/// Query rows that are multiplied in f32 before their sum is added in double precision.
inline constexpr int kMomentRows = 64;

/// Rows of one query head.
struct MomentUnit {
  const float* q = nullptr;  ///< row r is at q + r * stride
  int64_t rows = 0, stride = 0;
  int head_dim = 0;
  const float* origin = nullptr;  ///< [head_dim], subtracted from each row
  double* sums = nullptr;         ///< [head_dim] += rows
  double* products = nullptr;     ///< [head_dim, head_dim] += outer products of rows; may be null
};

/// Stored keys [begin, begin + count), at most kTileKeys, for some query heads. Rows of the terms
/// have head_dim rounded up to 32 values; those past head_dim are zeros.
struct LogitUnit {
  const PagedRows* rows = nullptr;
  int64_t begin = 0, count = 0;
  int heads = 0;
  const float* linear = nullptr;     ///< [heads, dim]
  const float* quadratic = nullptr;  ///< [heads, dim, dim], zeros above the diagonal; may be null
  float* logits = nullptr;           ///< [heads, count]; heads are `stride` apart
  int64_t stride = 0;
};

struct ExpectedKernels {
  size_t (*moments_scratch_bytes)(int head_dim);
  void (*add_moments)(const MomentUnit& unit, std::byte* scratch);
  size_t (*logits_scratch_bytes)(int head_dim);
  /// logits = linear . key + key . (quadratic key).
  void (*logits)(const LogitUnit& unit, std::byte* scratch);
  /// out [count] = lengths of the stored values [begin, begin + count).
  void (*value_lengths)(const PagedRows& rows, int64_t begin, int64_t count, float* out);
};

LH_PER_ISA(ExpectedKernels, kExpectedKernels)

}  // namespace longhaul
