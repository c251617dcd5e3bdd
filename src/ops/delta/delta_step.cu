// One row of many sequences: a thread block per sequence and value head reads its state once and
// writes it once.

#include "base/assert.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/in_launches.cuh"
#include "ops/core/gpu/reductions.cuh"
#include "ops/delta/delta_terms.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kStepWarps = 16, kStepThreads = 32 * kStepWarps;
constexpr int kKeysOfWarp = kDeltaDim / kStepWarps;

struct StepShared {
  float row[3][kDeltaDim];  // query, key and value after the convolution
  float4 partial[kStepWarps][32];
  float fresh[kDeltaDim];
  float query_factor, key_factor, kept, beta;
  float squares[4];
};

/// Column `column` of the sum over all warps.
__device__ float sum_of_warps(const StepShared& m, int column) {
  const float* const first = reinterpret_cast<const float*>(m.partial[0]) + column;
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kStepWarps; ++w) sum += first[w * kDeltaDim];
  return sum;
}

/// The short convolution of this head's channels. The first value head of a key head, and for
/// values each head, keeps the history.
__device__ void convolve_step(const DeltaSizes& s, const DeltaAddresses& at, const DeltaStep& step,
                              int head, StepShared& m) {
  const int part = threadIdx.x / kDeltaDim, within = threadIdx.x % kDeltaDim;
  if (part > 2) return;
  const int key_head = key_head_of(s, head);
  const int channel = part == 2 ? 2 * s.keys + head * kDeltaDim + within
                                : part * s.keys + key_head * kDeltaDim + within;
  float x[kDeltaTaps], sum = 0;
#pragma unroll
  for (int j = 0; j + 1 < kDeltaTaps; ++j) x[j] = step.before[j * s.channels + channel];
  x[kDeltaTaps - 1] = at.qkv[step.row * s.channels + channel];
#pragma unroll
  for (int j = 0; j < kDeltaTaps; ++j) sum += x[j] * at.convolution[j * s.channels + channel];
  m.row[part][within] = sum * delta_sigmoid(sum);
  if (part < 2 && (s.tiled ? head >= s.key_heads : head % s.shared != 0)) return;
#pragma unroll
  for (int j = 0; j + 1 < kDeltaTaps; ++j) step.after[j * s.channels + channel] = x[j + 1];
}

/// The factors of the row, by three warps.
__device__ void factors_of_step(const DeltaSizes& s, const DeltaAddresses& at, int64_t row,
                                int head, StepShared& m) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp < 2) {
    const float4 x = reinterpret_cast<const float4*>(m.row[warp])[lane];
    const float sum = warp_sum(x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w);
    if (lane == 0) {
      const float factor = 1.0f / sqrtf(sum + 1e-6f);
      (warp == 0 ? m.query_factor : m.key_factor) =
          warp == 0 ? factor / sqrtf(static_cast<float>(kDeltaDim)) : factor;
    }
  } else if (threadIdx.x == 64) {
    m.kept = expf(log_decay(at, s, row, head));
    m.beta = share_of(at, s, row, head);
  }
}

__global__ void __launch_bounds__(kStepThreads, 2)
    delta_step_kernel(DeltaSizes s, DeltaAddresses at, Records<DeltaStep> steps, bool early) {
  __shared__ StepShared m;
  const DeltaStep step = steps.each[blockIdx.y];
  const int head = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t first = s.history + int64_t{head} * kDeltaDim * kDeltaDim;
  const int key = warp * kKeysOfWarp;
  if (!early) wait_for_earlier_kernels();
  const float4* const before =
      reinterpret_cast<const float4*>(step.before + first + key * kDeltaDim) + lane;
  float4 state[kKeysOfWarp];
#pragma unroll
  for (int i = 0; i < kKeysOfWarp; ++i) state[i] = before[i * 32];
  if (early) wait_for_earlier_kernels();
  let_next_kernel_begin();
  convolve_step(s, at, step, head, m);
  __syncthreads();
  factors_of_step(s, at, step.row, head, m);
  __syncthreads();
  const float kept = m.kept, key_factor = m.key_factor, query_factor = m.query_factor;
  float4 sum{};
#pragma unroll
  for (int i = 0; i < kKeysOfWarp; ++i) {
    const float k = m.row[1][key + i] * key_factor;
    sum.x += k * state[i].x;
    sum.y += k * state[i].y;
    sum.z += k * state[i].z;
    sum.w += k * state[i].w;
  }
  m.partial[warp][lane] = sum;
  __syncthreads();
  if (threadIdx.x < kDeltaDim) {
    m.fresh[threadIdx.x] = m.beta * (m.row[2][threadIdx.x] - kept * sum_of_warps(m, threadIdx.x));
  }
  __syncthreads();
  const float4 fresh = reinterpret_cast<const float4*>(m.fresh)[lane];
  float4* const after = reinterpret_cast<float4*>(step.after + first + key * kDeltaDim) + lane;
  sum = {};
#pragma unroll
  for (int i = 0; i < kKeysOfWarp; ++i) {
    const float k = m.row[1][key + i] * key_factor, q = m.row[0][key + i] * query_factor;
    float4& x = state[i];
    x = {kept * x.x + k * fresh.x, kept * x.y + k * fresh.y, kept * x.z + k * fresh.z,
         kept * x.w + k * fresh.w};
    after[i * 32] = x;
    sum.x += q * x.x;
    sum.y += q * x.y;
    sum.z += q * x.z;
    sum.w += q * x.w;
  }
  m.partial[warp][lane] = sum;
  __syncthreads();
  float seen = 0;
  if (threadIdx.x < kDeltaDim) {
    seen = sum_of_warps(m, threadIdx.x);
    const float squares = warp_sum(seen * seen);
    if (lane == 0) m.squares[warp] = squares;
  }
  __syncthreads();
  if (threadIdx.x >= kDeltaDim) return;
  const float squares = m.squares[0] + m.squares[1] + m.squares[2] + m.squares[3];
  const float factor = 1.0f / sqrtf(squares / static_cast<float>(kDeltaDim) + at.eps);
  const int64_t to = step.row * s.values + head * kDeltaDim + threadIdx.x;
  const float gate = at.gates[to];
  at.out[to] = seen * factor * at.norm[threadIdx.x] * gate * delta_sigmoid(gate);
}

}  // namespace

void delta_steps(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at,
                 std::span<const DeltaStep> steps, bool early) {
  LH_ASSERT(sizes.fast());
  in_launches(steps, "delta_step", [&](const Records<DeltaStep>& some, unsigned count) {
    const dim3 grid(static_cast<unsigned>(sizes.value_heads), count);
    launch_early(stream, "delta_step", delta_step_kernel, grid, kStepThreads, 0, sizes, at, some,
                 early);
  });
}

}  // namespace longhaul::cuda
