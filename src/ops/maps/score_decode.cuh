#pragma once
// Computes softmax maps (attention probabilities) of few rows, as in decoding. A flat row is the
// query of one head of one query row. The flat rows of a job are the columns of one matrix product
// with 128 keys. Keys are thus read once for all heads that share them.

#include "ops/maps/score_call.cuh"

namespace longhaul::cuda {

/// Returns whether the task has few enough rows and heads for this file.
inline bool has_decode_rows(const AttendTask& task) {
  return int64_t{task.row_count} * task.head_count <= kStepRows;
}

/// Distance in floats between two keys in the map of a thread block. The probability of key k and
/// flat row f is at k * kMapPitch + f, where flat row f is head f % head_count of query row f /
/// head_count. The distance is odd, so that keys are in different banks.
inline constexpr int kMapPitch = kStepRows + 1;

/// This thread's share of the job's queries, in bf16, and of their lse (logs of the softmax
/// denominators). They are loaded into registers while the keys arrive, and moved to shared memory
/// when the keys are in registers.
template <int D>
class FlatRows {
 public:
  __device__ __forceinline__ FlatRows(const ScoreArgs& a, const ScoreJob& job) {
    const int flat_rows = job.row_count * job.head_count;
    const auto place = [&](int f) {
      return int64_t{job.row_begin + f / job.head_count} * a.heads + job.head_begin +
             f % job.head_count;
    };
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int f = (thread() + i * kScoreThreads) / kChunks;
      const int chunk = (thread() + i * kScoreThreads) % kChunks;
      own_[i] = {0, 0, 0, 0};
      if (f >= flat_rows) continue;
      const auto* from =
          reinterpret_cast<const float4*>(job.keys.queries + place(f) * D + 8 * chunk);
      const float4 low = from[0], high = from[1];
      own_[i] = bf16_of({{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}});
    }
    lse_ = thread() < flat_rows ? a.lse[place(thread())] : -INFINITY;
  }
  __device__ __forceinline__ void store(ScoreShared<D>& shared) const {
    const uint32_t to = shared_address(shared.memory);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int c = thread() + i * kScoreThreads;
      if (c >= kStepRows * kChunks) break;
      store_16(to + static_cast<uint32_t>(c / kChunks * kPitch<D> + c % kChunks * 16), own_[i]);
    }
    if (thread() < kStepRows) shared.lse[0][thread()] = lse_;
  }

 private:
  static constexpr int kChunks = D / 8;
  static constexpr int kOwn = (kStepRows * kChunks + kScoreThreads - 1) / kScoreThreads;
  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }

  uint4 own_[kOwn];
  float lse_;
};

/// Computes the softmax map of this thread block in shared memory and returns its address.
template <int D>
__device__ __forceinline__ const float* flat_map(const ScoreArgs& a, ScoreShared<D>& shared) {
  static_assert(sizeof(shared.memory) >= kScoreKeys * kMapPitch * sizeof(float));
  const ScoreJob& job = shared.job;
  const FlatRows<D> rows(a, job);
  load_keys<D>(a, job.keys, job.page_shift, shared.tile * kScoreKeys, job.row_position, shared);
  KeyFragments<D> keys;
  keys.load(shared);
  __syncthreads();  // barrier: all keys are in registers
  rows.store(shared);
  __syncthreads();
  float p[kStepRows / 8][4];
  step_logits<D>(a, keys, shared, 0, p);
  __syncthreads();  // barrier: no warp reads the queries any more
  auto* const map = reinterpret_cast<float*>(shared.memory);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int g = 0; g < kStepRows / 8; ++g) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int f = 8 * g + 2 * (lane % 4) + i % 2, k = 16 * warp + lane / 4 + 8 * (i / 2);
      const bool seen =
          sees(job.keys.nearest, job.keys.furthest, f / job.head_count, shared.offsets[k]);
      map[k * kMapPitch + f] =
          seen ? exp2_of(p[g][i] * a.logits.scale - denominator_of(shared.lse[0][f])) : 0.0f;
    }
  }
  __syncthreads();
  return map;
}

/// Returns the probability of a row for a key, summed over all heads of the job.
__device__ __forceinline__ float sum_of_heads(const float* map, const ScoreJob& job, int key,
                                              int row) {
  float sum = 0;
  for (int h = 0; h < job.head_count; ++h) sum += map[key * kMapPitch + row * job.head_count + h];
  return sum;
}

}  // namespace longhaul::cuda
