#pragma once
// Computes probabilities of a softmax map with known softmax denominators. A thread block has 128
// keys, 16 of them in the registers of each warp. It loads 32 query rows of one head at a time and
// multiplies them by all its keys. Each lane holds results for keys lane / 4 and lane / 4 + 8 of
// its warp.

#include "ops/attention/key_tile.cuh"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/maps/score_plan.h"

namespace longhaul::cuda {

inline constexpr int kScoreKeys = 128;     ///< keys per thread block
inline constexpr int kScoreThreads = 256;  ///< one warp for each 16 keys
inline constexpr int kStepRows = 32;       ///< query rows per step, all of the same head
inline constexpr int kSteps = 3;           ///< number of steps in shared memory at a time

template <int D>
struct ScoreShared {
  static constexpr int kKeyBytes = kScoreKeys * kPitch<D>;
  static constexpr int kStepBytes = kStepRows * kPitch<D>;
  static constexpr int kBytes = kKeyBytes > kSteps* kStepBytes ? kKeyBytes : kSteps* kStepBytes;
  /// Holds the keys until they are in registers, and then steps of query rows.
  uint4 memory[kBytes / 16];
  float lse[kSteps][kStepRows];
  const std::byte* rows[kScoreKeys];  ///< addresses of the keys
  int32_t offsets[kScoreKeys];
  ScoreJob job;
  int32_t index;  ///< index of the thread block's job
  int32_t list, part, tile;
};

/// Copies 4 bytes to shared memory. If `present` is false, writes zeros instead.
__device__ __forceinline__ void copy_4(uint32_t to, const void* from, bool present) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from),
               "r"(present ? 4 : 0)
               : "memory");
}

/// Arguments that are the same for all thread blocks of a call.
struct ScoreArgs {
  const ScoreJob* sent;  ///< jobs in device memory; null: the jobs are in `own`
  const float* lse;      ///< [rows, heads]
  float* room;           ///< scratch memory of the call
  RotationTable rotations;
  int32_t job_count, heads;
  LogitForm logits;
  ScoreJob own[kOwnJobs];

  __device__ __forceinline__ const ScoreJob* jobs() const { return sent == nullptr ? own : sent; }
};

/// Waits for earlier kernels, finds the job of this thread block, and determines its list, part and
/// tile. Every kernel must call it first.
template <class Shared>
__device__ __forceinline__ void find_job(const ScoreArgs& a, Shared& shared) {
  await_turn();
  if (threadIdx.x == 0) {
    const int block = static_cast<int>(blockIdx.x);
    shared.index = number_of_block(a.jobs(), a.job_count, block);
    shared.job = a.jobs()[shared.index];
    const int at = block - shared.job.first_block;
    shared.tile = at % shared.job.tiles;
    shared.part = at / shared.job.tiles % shared.job.parts;
    shared.list = at / shared.job.tiles / shared.job.parts;
  }
  __syncthreads();
}

/// Returns the address of a key in its page.
__device__ __forceinline__ const std::byte* key_row(const SegmentRecord& s, int page_shift,
                                                    int row_bytes, int32_t key) {
  const int32_t row = s.index == nullptr ? s.shift + key : __ldg(s.index + key);
  return s.pages[row >> page_shift] +
         static_cast<int64_t>(row & ((1 << page_shift) - 1)) * row_bytes;
}

/// Loads keys [first, first + 128) of a segment into shared memory, and applies RoPE to them if
/// SegmentRecord::rotate is nonzero. Also stores the positions of the keys relative to
/// row_position.
template <int D, class Shared>
__device__ __forceinline__ void load_keys(const ScoreArgs& a, const SegmentRecord& s,
                                          int page_shift, int32_t first, int64_t row_position,
                                          Shared& shared) {
  constexpr int kChunks = D / 8;
  const uint32_t keys = shared_address(shared.memory);
  const int thread = static_cast<int>(threadIdx.x);
  const PageType type = s.key_type;
  const int bytes = stored_bytes(type, D);
  const int32_t count = s.count - first;
  // All addresses are looked up together. If each copy looked up its own address, each look-up
  // would wait for the previous one.
  if (thread < kScoreKeys) {
    shared.rows[thread] = key_row(s, page_shift, bytes, first + (thread < count ? thread : 0));
    shared.offsets[thread] = key_offset(s, s.shift + first + thread, row_position);
  }
  __syncthreads();
  const auto bring = [&](int c) {
    const int n = c / kChunks, chunk = c % kChunks;
    copy_eight(keys + static_cast<uint32_t>(n * kPitch<D> + chunk * 16), shared.rows[n], type,
               chunk, n < count);
  };
  static_assert(kScoreKeys * kChunks % kScoreThreads == 0);
  if (type == PageType::kBF16) {
#pragma unroll
    for (int i = 0; i < kScoreKeys * kChunks / kScoreThreads; ++i)
      bring(thread + i * kScoreThreads);
  } else {
    for (int c = thread; c < kScoreKeys * kChunks; c += kScoreThreads) bring(c);
  }
  commit_copies();
  wait_copies<0>();
  __syncthreads();
  if (s.rotate) {
    rotate_tile<D, kScoreKeys, kScoreThreads>(a.rotations, keys, shared.offsets, row_position,
                                              thread);
    __syncthreads();
  }
}

/// The 16 keys of this warp, in registers, as the left operand of mma.sync.
template <int D>
struct KeyFragments {
  uint32_t a[D / 16][4];

  template <class Shared>
  __device__ __forceinline__ void load(const Shared& shared) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t from =
        shared_address(shared.memory) + (16 * warp + lane % 16) * kPitch<D> + lane / 16 * 16;
#pragma unroll
    for (int k = 0; k < D / 16; ++k) load_matrices(a[k], from + 32 * k);
  }
};

/// Rows [begin, end) of a task, for query heads [head_begin, head_begin + heads).
struct RowsOfStep {
  int32_t begin, end;
  int32_t head_begin, heads;

  __device__ __forceinline__ int tiles() const {
    return end > begin ? (end - begin + kStepRows - 1) / kStepRows : 0;
  }
};

/// Returns the rows of the job that see some of the first `present` keys. `offsets` are the
/// positions of the keys relative to the job's first row, in ascending order.
__device__ __forceinline__ RowsOfStep seeing_rows(const ScoreJob& job, const int32_t* offsets,
                                                  int present) {
  RowsOfStep rows{0, job.row_count, 0, 0};
  if (job.keys.nearest > -kFar) rows.begin = max(0, offsets[0] + job.keys.nearest);
  if (job.keys.furthest < kFar) {
    rows.end = min(job.row_count, offsets[present - 1] + job.keys.furthest);
  }
  return rows;
}

template <int D>
__device__ __forceinline__ void stage_step(const ScoreArgs& a, const ScoreJob& job,
                                           const RowsOfStep& rows, int step,
                                           ScoreShared<D>& shared) {
  constexpr int kChunks = D / 8;
  const int stage = step % kSteps, first = rows.begin + step / rows.heads * kStepRows;
  const int head = rows.head_begin + step % rows.heads;
  const uint32_t to =
      shared_address(shared.memory) + static_cast<uint32_t>(stage * ScoreShared<D>::kStepBytes);
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < (kStepRows * kChunks + kScoreThreads - 1) / kScoreThreads; ++i) {
    const int c = thread + i * kScoreThreads;
    if (kStepRows * kChunks % kScoreThreads != 0 && c >= kStepRows * kChunks) break;
    const int n = c / kChunks, chunk = c % kChunks;
    const bool present = first + n < rows.end;
    const int64_t row = job.row_begin + first + (present ? n : 0);
    copy_16(to + static_cast<uint32_t>(n * kPitch<D> + chunk * 16),
            job.queries + (row * a.heads + head) * D + chunk * 8, present);
  }
  if (thread < kStepRows) {
    const bool present = first + thread < rows.end;
    const int64_t row = job.row_begin + first + (present ? thread : 0);
    copy_4(shared_address(&shared.lse[stage][thread]), a.lse + row * a.heads + head, present);
  }
}

/// Computes the logits p of a step. p[g][i] belongs to the warp's key lane / 4 + 8 * (i / 2) and to
/// row 8 * g + 2 * (lane % 4) + i % 2 of the step.
template <int D>
__device__ __forceinline__ void step_logits(const ScoreArgs& a, const KeyFragments<D>& keys,
                                            const ScoreShared<D>& shared, int stage,
                                            float (&p)[kStepRows / 8][4]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int g = 0; g < kStepRows / 8; ++g) {
#pragma unroll
    for (int i = 0; i < 4; ++i) p[g][i] = 0;
  }
  const uint32_t rows = shared_address(shared.memory) +
                        static_cast<uint32_t>(stage * ScoreShared<D>::kStepBytes) +
                        (lane % 8 + 8 * (lane / 16)) * kPitch<D> + lane / 8 % 2 * 16;
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
#pragma unroll
    for (int g = 0; g < kStepRows / 16; ++g) {
      uint32_t b[4];
      load_matrices(b, rows + 16 * g * kPitch<D> + 32 * k);
      multiply(p[2 * g], keys.a[k], b[0], b[1]);
      multiply(p[2 * g + 1], keys.a[k], b[2], b[3]);
    }
  }
  bend_logits(p, a.logits.bend);
}

/// Returns the base-2 log of the softmax denominator of a row with this lse. It is subtracted from
/// the row's base-2 logits.
__device__ __forceinline__ float denominator_of(float lse) {
  return lse > -1e30f ? lse * kLog2OfE : 1e30f;  // a row that sees no key gets probabilities of
                                                 // zero
}

/// Computes the probabilities of a step that begins at row `first`. They are arranged as in
/// step_logits().
template <int D>
__device__ __forceinline__ void probabilities(const ScoreArgs& a, const ScoreJob& job,
                                              const KeyFragments<D>& keys,
                                              const ScoreShared<D>& shared, int stage, int first,
                                              int end, float (&p)[kStepRows / 8][4]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  step_logits<D>(a, keys, shared, stage, p);
  const int32_t far = shared.offsets[16 * warp], near = shared.offsets[16 * warp + 15];
  const int32_t nearest = job.keys.nearest, furthest = job.keys.furthest;
  const bool all = near != kNoKey && first + kStepRows <= end && first - near >= nearest &&
                   first + kStepRows - 1 - far < furthest;
  const int32_t key[2] = {shared.offsets[16 * warp + lane / 4],
                          shared.offsets[16 * warp + lane / 4 + 8]};
#pragma unroll
  for (int g = 0; g < kStepRows / 8; ++g) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int n = 8 * g + 2 * (lane % 4) + j;
      const float denominator = denominator_of(shared.lse[stage][n]);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float& x = p[g][2 * h + j];
        x = exp2_of(x * a.logits.scale - denominator);
        if (!all && (first + n >= end || !sees(nearest, furthest, first + n, key[h]))) x = 0;
      }
    }
  }
}

/// Processes all rows in steps of 32 rows, one head after another for the same rows. Calls
/// `ending.add(p, first row)` after each step, and `ending.rows_done()` after the last head of the
/// rows. The steps overwrite the keys in shared memory, so all warps must have loaded their keys
/// into registers beforehand.
template <int D, class Ending>
__device__ __forceinline__ void over_rows(const ScoreArgs& a, const KeyFragments<D>& keys,
                                          const RowsOfStep& rows, ScoreShared<D>& shared,
                                          Ending& ending) {
  const ScoreJob& job = shared.job;
  const int steps = rows.tiles() * rows.heads;
#pragma unroll
  for (int i = 0; i < kSteps - 1; ++i) {
    if (i < steps) stage_step<D>(a, job, rows, i, shared);
    commit_copies();
  }
  for (int i = 0; i < steps; ++i) {
    wait_copies<kSteps - 2>();
    __syncthreads();  // barrier: step i has arrived, and no warp reads the previous one any more
    if (i + kSteps - 1 < steps) stage_step<D>(a, job, rows, i + kSteps - 1, shared);
    commit_copies();
    const int first = rows.begin + i / rows.heads * kStepRows;
    float p[kStepRows / 8][4];
    probabilities<D>(a, job, keys, shared, i % kSteps, first, rows.end, p);
    ending.add(p, first);
    if ((i + 1) % rows.heads == 0) ending.rows_done();
  }
  wait_copies<0>();
}

/// Returns the rows of part `part` when `rows` are split into `parts` parts. Parts consist of whole
/// steps of 32 rows.
__device__ __forceinline__ RowsOfStep part_of(RowsOfStep rows, int part, int parts) {
  const int64_t tiles = rows.tiles();
  const int begin = rows.begin + static_cast<int>(tiles * part / parts) * kStepRows;
  const int end = rows.begin + static_cast<int>(tiles * (part + 1) / parts) * kStepRows;
  rows.begin = begin;
  rows.end = min(rows.end, end);
  return rows;
}

}  // namespace longhaul::cuda
