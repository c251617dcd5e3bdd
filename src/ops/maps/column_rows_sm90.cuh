#pragma once
// Loads query rows for the wgmma kernel of column sums. A flat row is the query of one head of one
// query row. Only flat rows that see some key of the thread block are loaded, in steps of 128, into
// shared memory with the 128-byte swizzle. A job is the work of some consecutive thread blocks
// (score_plan.h).

#include "ops/maps/score_tile.cuh"

namespace longhaul::cuda {

inline constexpr int kSm90StepRows = 128;              ///< flat rows per step
inline constexpr int kHalfRows = kSm90StepRows / 2;    ///< flat rows per matrix product
inline constexpr int kStepHalf = kSm90StepRows * 128;  ///< bytes of 64 columns of a step's flat
                                                       ///< rows
inline constexpr int kSm90Steps = 3;                   ///< number of steps in shared memory at a
                                                       ///< time
static_assert(kSm90StepRows <= kScoreThreads);

/// The flat rows of a thread block. Flat row f is query row begin + f / heads with query head
/// head_begin + f % heads.
struct FlatStretch {
  int32_t first, end;  ///< range of flat rows
  int32_t begin;       ///< query row of flat row 0
  int32_t last;        ///< query row of the last flat row
  int32_t head_begin, heads;
  uint32_t per_head;  ///< 2^31 / heads, rounded up

  __device__ __forceinline__ int steps() const {
    return end > first ? (end - first + kSm90StepRows - 1) / kSm90StepRows : 0;
  }
  /// Returns f / heads. Every copy needs this quotient, so it is computed without a division
  /// instruction. The error is below f / 2^31, so the result is exact as long as f * heads < 2^31.
  __device__ __forceinline__ uint32_t row(int f) const {
    return __umulhi(2 * static_cast<uint32_t>(f), per_head);
  }
};

template <int D>
struct ColumnsSm90Shared {
  static constexpr int kStepBytes = D / 64 * kStepHalf;
  static_assert(kSm90Steps * kStepBytes >= kScoreKeys * kPitch<D>);
  /// At first, this memory holds the keys. When the keys are in registers, it holds steps of query
  /// rows with the 128-byte swizzle.
  alignas(1024) uint4 memory[kSm90Steps * kStepBytes / 16];
  float denominators[kSm90Steps][kSm90StepRows];
  /// Numbers of the query rows within the job. Entries past the end repeat the number of the last
  /// row.
  int32_t numbers[kSm90Steps][kSm90StepRows];
  const std::byte* rows[kScoreKeys];  ///< addresses of the keys
  int32_t offsets[kScoreKeys];
  FlatStretch flat;
  ScoreJob job;
  int32_t index;  ///< index of the thread block's job
  int32_t list, part, tile;
};

/// Returns the flat rows of this part of the job that see some key of the thread block. Parts
/// consist of whole steps.
template <class Shared>
__device__ __forceinline__ FlatStretch stretch_of(const Shared& shared) {
  const ScoreJob& job = shared.job;
  const int present = min(kScoreKeys, job.keys.count - shared.tile * kScoreKeys);
  const RowsOfStep rows = seeing_rows(job, shared.offsets, present);
  const int heads = job.head_count, all = max(0, rows.end - rows.begin) * heads;
  const int64_t steps = (all + kSm90StepRows - 1) / kSm90StepRows;
  FlatStretch flat;
  flat.first = static_cast<int>(steps * shared.part / job.parts) * kSm90StepRows;
  flat.end = min(all, static_cast<int>(steps * (shared.part + 1) / job.parts) * kSm90StepRows);
  flat.begin = rows.begin;
  flat.last = rows.end - 1;
  flat.head_begin = job.head_begin + shared.list * heads;
  flat.heads = heads;
  flat.per_head = ((1u << 31) + static_cast<uint32_t>(heads) - 1) / static_cast<uint32_t>(heads);
  return flat;
}

/// Starts the loads of the flat rows of a step into stage `stage`. Rows past the end become zeros.
template <int D>
__device__ __forceinline__ void ask_rows(const ScoreArgs& a, int step, int stage,
                                         ColumnsSm90Shared<D>& shared) {
  constexpr int kChunks = D / 8, kAtOnce = kScoreThreads / kChunks;
  static_assert(kAtOnce % 8 == 0);  // all rows that a thread copies have the same swizzle
  const ScoreJob& job = shared.job;
  const FlatStretch& flat = shared.flat;
  const int thread = static_cast<int>(threadIdx.x), chunk = thread % kChunks, n = thread / kChunks;
  const int64_t row = int64_t{job.row_begin} + flat.begin;
  const uint4* from = reinterpret_cast<const uint4*>(job.queries) +
                      (row * a.heads + flat.head_begin) * kChunks + chunk;
  const uint32_t to =
      shared_address(shared.memory) +
      static_cast<uint32_t>(stage * ColumnsSm90Shared<D>::kStepBytes + chunk / 8 * kStepHalf +
                            n * 128 + ((chunk % 8) ^ (n % 8)) * 16);
  // The fields are copied to registers, because the compiler assumes that the asynchronous copies
  // may change shared memory.
  const FlatStretch own = flat;
  const int first = own.first + step * kSm90StepRows + n;
  const auto others = static_cast<uint32_t>(a.heads - own.heads);
  // Keeps the address in one register. Otherwise the compiler would compute it again for every
  // copy.
  asm volatile("" : "+l"(from));
#pragma unroll
  for (int i = 0; i < kSm90StepRows / kAtOnce; ++i) {
    const int f = min(first + i * kAtOnce, own.end - 1);
    const uint32_t at = static_cast<uint32_t>(f) + own.row(f) * others;
    copy_16(to + i * kAtOnce * 128, from + uint64_t{at} * kChunks, first + i * kAtOnce < own.end);
  }
  commit_copies();
}

/// The lse (log of the softmax denominator) of one flat row of a step. Each of the first
/// kSm90StepRows threads loads one.
struct RowOfStep {
  float lse = -INFINITY;

  /// Starts the load for step `step`.
  template <class Shared>
  __device__ __forceinline__ void ask(const ScoreArgs& a, int step, int stage, Shared& shared) {
    const int n = static_cast<int>(threadIdx.x);
    if (n >= kSm90StepRows) return;
    const FlatStretch& flat = shared.flat;
    const int f = flat.first + step * kSm90StepRows + n;
    const bool present = f < flat.end;
    const auto row = static_cast<int>(flat.row(f));
    shared.numbers[stage][n] = present ? flat.begin + row : flat.last;
    const int64_t from = (int64_t{shared.job.row_begin} + flat.begin) * a.heads + flat.head_begin;
    lse = present ? __ldg(a.lse + from + f + int64_t{row} * (a.heads - flat.heads)) : -INFINITY;
  }
  /// Stores the denominator in shared memory. A row that does not exist gets a denominator that
  /// makes its probabilities zero.
  template <class Shared>
  __device__ __forceinline__ void store(int stage, Shared& shared) const {
    const int n = static_cast<int>(threadIdx.x);
    if (n < kSm90StepRows) shared.denominators[stage][n] = denominator_of(lse);
  }
};

}  // namespace longhaul::cuda
