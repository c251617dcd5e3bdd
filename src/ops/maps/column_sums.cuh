#pragma once
// Code that is common to the kernels that sum softmax maps (attention probabilities) over rows. It
// stores the sums of a thread block.

#include "ops/core/gpu/reductions.cuh"
#include "ops/maps/score_call.cuh"

namespace longhaul::cuda {

/// Returns the address of the partial sums of part `part` of list `list`. ScoreJob (score_plan.h)
/// explains lists and parts. The array is [lists][parts][1 or 2][keys]: if the job also computes
/// squares, they follow the sums.
__device__ __forceinline__ float* partial_of(const ScoreArgs& a, const ScoreJob& job, int list,
                                             int part) {
  const int64_t each = static_cast<int64_t>(job.keys.count) * (job.more_out == nullptr ? 1 : 2);
  return a.room + job.partial + (static_cast<int64_t>(list) * job.parts + part) * each;
}

/// Writes the sums over the thread block's rows for each of its keys. Four consecutive lanes hold
/// partial sums of the warp's keys lane / 4 and lane / 4 + 8. They are added, and the first of the
/// four lanes writes the result.
template <bool kSquares, class Shared>
__device__ __forceinline__ void write_columns(const ScoreArgs& a, const Shared& shared,
                                              const float (&sums)[2], const float (&squares)[2]) {
  const ScoreJob& job = shared.job;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float sum = quad_sum(sums[h]);
    const float square = kSquares ? quad_sum(squares[h]) : 0.0f;
    const int32_t key = shared.tile * kScoreKeys + 16 * warp + lane / 4 + 8 * h;
    if (lane % 4 != 0 || key >= job.keys.count) continue;
    if (job.parts > 1) {
      float* to = partial_of(a, job, shared.list, shared.part) + key;
      to[0] = sum;
      if (kSquares) to[job.keys.count] = square;
    } else {
      const int64_t at = shared.list * job.stride + key;
      job.out[at] += sum;
      if (kSquares) job.more_out[at] += square;
    }
  }
}

/// Launches the wgmma kernel, which supports head dimensions 64 and 128 and computes no squares.
void launch_column_sums_sm90(Stream stream, const ScoreArgs& args, int blocks, int head_dim);

}  // namespace longhaul::cuda
