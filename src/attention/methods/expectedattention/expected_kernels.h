#pragma once
// The CPU kernels of Expected Attention, which are compiled once per instruction set.
// query_moments.cc and expected_attention.cc call them.

#include "ops/attention/attention_kernels.h"

namespace longhaul {

/// Number of query rows that are summed in f32. The sums of these rows are then added in double
/// precision.
inline constexpr int kMomentRows = 64;

/// The query rows of one head, which are added to the sums of QueryMoments.
struct MomentUnit {
  const float* q = nullptr;  ///< row r is at q + r * stride
  int64_t rows = 0, stride = 0;
  int head_dim = 0;
  const float* origin = nullptr;  ///< [head_dim], subtracted from each row
  double* sums = nullptr;         ///< [head_dim]: the rows are added to it
  /// [head_dim, head_dim]: the rows' outer products are added to it; may be null.
  double* products = nullptr;
};

/// Logits of the stored keys [begin, begin + count) for several query heads. count is at most
/// kTileKeys. `dim` is head_dim rounded up to a multiple of 32; the additional elements are zeros.
struct LogitUnit {
  const PagedRows* rows = nullptr;
  int64_t begin = 0, count = 0;
  int heads = 0;
  const float* linear = nullptr;     ///< [heads, dim]
  const float* quadratic = nullptr;  ///< [heads, dim, dim], zeros above the diagonal; may be null
  float* logits = nullptr;           ///< output [heads, count]; heads are `stride` floats apart
  int64_t stride = 0;
};

struct ExpectedKernels {
  size_t (*moments_scratch_bytes)(int head_dim);
  void (*add_moments)(const MomentUnit& unit, std::byte* scratch);
  size_t (*logits_scratch_bytes)(int head_dim);
  /// Computes logit = linear . key + key . (quadratic key) for every head and key.
  void (*logits)(const LogitUnit& unit, std::byte* scratch);
  /// Writes the norms of the stored values [begin, begin + count) to out [count].
  void (*value_lengths)(const PagedRows& rows, int64_t begin, int64_t count, float* out);
};

LH_PER_ISA(ExpectedKernels, kExpectedKernels)

}  // namespace longhaul
