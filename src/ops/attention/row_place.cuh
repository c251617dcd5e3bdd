#pragma once
// Determines where the results of a unit's flat rows are written, and completes their softmax. All
// attention kernels use this file. A unit is the work of one thread block (attend_records.h). A
// flat row is the query of one head of one query row. While a kernel processes keys, the softmax
// weight of a key is 2^(logit - top), with logits in base 2. `top`, the reference logit of the flat
// row, is its largest logit so far, or at most 8 less.

#include "ops/attention/attend_kernels.gpu.h"
#include "ops/core/gpu/mma.cuh"

namespace longhaul::cuda {

/// The place to which the result of a flat row is written. It is in `out`, or among the partial
/// results if the unit has several parts.
struct RowPlace {
  float* sums;  ///< [head_dim] partial result: sums of weighted values; complete result: the output
  float* top;   ///< reference logit of a partial result; null for a complete result
  float* sum;   ///< softmax denominator of a partial result; null for a complete result
  float* lse;   ///< lse of a complete result; null if it is not requested
  float sink;   ///< base-2 logit of the sink; -infinity if there is none or the result is partial
};

/// Returns the base-2 logit of the head's sink, or -infinity if there are no sinks. A partial
/// result does not include the sink, which is added when the parts are merged.
__device__ __forceinline__ float sink_of(const AttendArgs& a, int head) {
  return a.sinks == nullptr ? -INFINITY : __ldg(a.sinks + head) * kLog2OfE;
}

/// Returns the index of the unit's flat row f in an array [rows, heads].
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

/// Includes the sink in the softmax of a flat row. `sum` is the denominator, the sum of
/// 2^(logit - top) over the visible keys. Adds the sink's term to `sum`. If the sink's logit
/// exceeds `top`, first sets `top` to it and rescales `sum`. Returns the factor by which the sums
/// of weighted values are multiplied to give the output.
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

/// Writes the reference logit and the denominator of a partial result, or the lse of a complete
/// result. Only one thread per flat row calls this function.
__device__ __forceinline__ void write_denominator(const RowPlace& to, float top, float sum) {
  if (to.top != nullptr) {
    *to.top = top;
    *to.sum = sum;
  } else if (to.lse != nullptr) {
    *to.lse = natural_lse(top, sum);
  }
}

}  // namespace longhaul::cuda
