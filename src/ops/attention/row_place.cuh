#pragma once
// Determines where the results of a unit's rows are written, and completes the softmax sums of a
// row. All attention kernels use this file. A unit is the work of one thread block
// (attend_records.h). A (row, head) row is the query of one head of one row.

#include "ops/attention/attend_kernels.gpu.h"
#include "ops/core/gpu/mma.cuh"

namespace longhaul::cuda {

/// The destination of a (row, head) row of a unit. It is the row of `out`, or the row's partial
/// results if the unit is a part.
struct RowPlace {
  float* sums;  ///< [head_dim]
  float* top;   ///< reference logit of a partial result; null if the row is complete
  float* sum;   ///< denominator of a partial result
  float* lse;   ///< may be null
  float sink;   ///< base-2 logit of the sink, which is added to the denominator; -infinity: none
};

/// Returns the base-2 logit of the head's sink, or -infinity. A partial result does not include the
/// sink; the merge of the parts adds it.
__device__ __forceinline__ float sink_of(const AttendArgs& a, int head) {
  return a.sinks == nullptr ? -INFINITY : __ldg(a.sinks + head) * kLog2OfE;
}

/// Returns the index of the unit's (row, head) row f in an array [rows, heads].
__device__ __forceinline__ int64_t vector_of(const AttendArgs& a, const UnitRecord& unit, int f) {
  const int64_t row = unit.row_begin + f / unit.head_count;
  return row * a.heads + unit.head_begin + f % unit.head_count;
}

__device__ __forceinline__ RowPlace place_of(const AttendArgs& a, const UnitRecord& unit, int f,
                                             int head_dim) {
  if (unit.partial >= 0) {
    const int64_t flat = unit.row_count * unit.head_count;
    float* part = a.partial + unit.partial;
    return {part + static_cast<int64_t>(f) * head_dim, part + flat * head_dim + f,
            part + flat * (head_dim + 1) + f, nullptr, -INFINITY};
  }
  const int64_t row = unit.row_begin + f / unit.head_count;
  const int head = unit.head_begin + f % unit.head_count;
  const int64_t at = row * a.heads + head;
  return {a.out + at * head_dim, nullptr, nullptr, a.lse == nullptr ? nullptr : a.lse + at,
          sink_of(a, head)};
}

/// Adds the sink to the denominator of a row and updates the row's largest logit `top`. The
/// denominator is relative to `top`. Returns the factor by which the row's sums of weighted values
/// must be multiplied.
__device__ __forceinline__ float end_row(float sink, float& top, float& sum) {
  float shrink = 1;
  if (sink > -INFINITY) {
    const float best = fmaxf(top, sink);
    shrink = exp2_of(top - best);
    sum = sum * shrink + exp2_of(sink - best);
    top = best;
  }
  return sum > 0 ? shrink / sum : 0.0f;
}
__device__ __forceinline__ float end_row(const RowPlace& to, float& top, float& sum) {
  return to.top != nullptr ? 1.0f : end_row(to.sink, top, sum);
}

__device__ __forceinline__ float natural_lse(float top, float sum) {
  constexpr float kNaturalOfBase2 = 0.69314718056f;
  return sum > 0 ? top * kNaturalOfBase2 + logf(sum) : -INFINITY;
}

/// Writes the reference logit in base 2 and the denominator of a row. One thread calls it.
__device__ __forceinline__ void write_denominator(const RowPlace& to, float top, float sum) {
  if (to.top != nullptr) {
    *to.top = top;
    *to.sum = sum;
  } else if (to.lse != nullptr) {
    *to.lse = natural_lse(top, sum);
  }
}

}  // namespace longhaul::cuda
