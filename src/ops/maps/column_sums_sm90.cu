// Sums of softmax maps over rows on Hopper. A thread block holds 128 keys in registers for wgmma,
// 64 per warpgroup. Flat rows in shared memory stream past them as the columns of the product. A
// lane then has two keys and keeps only their sums. The tensor cores read half as much as for a
// product of two matrices in shared memory.
//
// The following figures are for 512 rows of 32 heads and 4,700 keys of 128 elements. Products are
// 19.7 GFLOP (30 us on an H100 at 650 TFLOP/s). Exponentials are 77 million (21 us at 16 per clock
// and processor). Thread blocks read about 160 MB of rows (30 us at 5.5 TB/s of the second-level
// cache). These must overlap. A warpgroup's next 64 rows are multiplied while it computes the
// exponentials of the previous ones. Rows are loaded a step of 128 ahead, and two thread blocks
// share a processor.

#include "ops/core/gpu/hopper.cuh"
#include "ops/maps/column_rows_sm90.cuh"
#include "ops/maps/column_sums.cuh"

namespace longhaul::cuda {
namespace {

/// Starts the products of the warpgroup's keys with 64 flat rows. s[4 g + i] is key lane / 4 + 8 (i
/// / 2) of the warp with row 8 g + 2 (lane % 4) + i % 2.
template <int D>
__device__ __forceinline__ void multiply_half(float (&s)[32], const KeyFragments<D>& keys,
                                              uint32_t rows) {
  const uint64_t first = matrix_at(rows, 16, 1024);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    wgmma_registers_by_rows(s, keys.a[k], first + (k / 4 * kStepHalf + k % 4 * 32) / 16, k > 0);
  }
  wgmma_commit();
}

/// Adds the probabilities of finished products. `half`: index of the first row in the stage.
template <class Shared>
__device__ __forceinline__ void add_half(const ScoreArgs& a, const Shared& shared, int stage,
                                         int half, float (&s)[32], float (&sums)[2]) {
#pragma unroll
  // Keeps uses of s after the wait.
  for (int i = 0; i < 32; ++i) asm volatile("" : "+f"(s[i])::"memory");
  if (a.logits.bend != 0) {
#pragma unroll
    for (int i = 0; i < 32; ++i) s[i] = tanh_of(s[i] * a.logits.bend);
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float2* const denominators =
      reinterpret_cast<const float2*>(shared.denominators[stage] + half) + lane % 4;
  const int32_t* const numbers = shared.numbers[stage] + half;
  const int32_t far = shared.offsets[16 * warp], near = shared.offsets[16 * warp + 15];
  const int32_t nearest = shared.job.keys.nearest, furthest = shared.job.keys.furthest;
  if (near != kNoKey && numbers[0] - near >= nearest && numbers[kHalfRows - 1] - far < furthest) {
#pragma unroll
    for (int g = 0; g < kHalfRows / 8; ++g) {
      const float2 less = denominators[4 * g];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        sums[h] += exp2_of(s[4 * g + 2 * h] * a.logits.scale - less.x) +
                   exp2_of(s[4 * g + 2 * h + 1] * a.logits.scale - less.y);
      }
    }
    return;
  }
#pragma unroll
  for (int g = 0; g < kHalfRows / 8; ++g) {
    const float2 less = denominators[4 * g];
    const int32_t* const row = numbers + 8 * g + 2 * (lane % 4);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int32_t key = shared.offsets[16 * warp + lane / 4 + 8 * h];
      const float low = exp2_of(s[4 * g + 2 * h] * a.logits.scale - less.x);
      const float high = exp2_of(s[4 * g + 2 * h + 1] * a.logits.scale - less.y);
      if (sees(nearest, furthest, row[0], key)) sums[h] += low;
      if (sees(nearest, furthest, row[1], key)) sums[h] += high;
    }
  }
}

/// Processes all steps. They overwrite the keys in shared memory, so all warps must have loaded
/// their fragments. Each iteration waits for its last products: ptxas lets no other instructions
/// overlap with products that are in flight when the next iteration starts.
template <int D>
__device__ __forceinline__ void sum_steps(const ScoreArgs& a, const KeyFragments<D>& keys,
                                          ColumnsSm90Shared<D>& shared, float (&sums)[2]) {
  const int count = shared.flat.steps();
  if (count == 0) return;
  const auto rows_at = [&](int stage) {
    return shared_address(shared.memory) +
           static_cast<uint32_t>(stage * ColumnsSm90Shared<D>::kStepBytes);
  };
  RowOfStep own;
  ask_rows<D>(a, 0, 0, shared);
  own.ask(a, 0, 0, shared);
  if (count > 1) {
    ask_rows<D>(a, 1, 1, shared);
    own.store(0, shared);
    own.ask(a, 1, 1, shared);
    wait_copies<1>();
  } else {
    own.store(0, shared);
    wait_copies<0>();
  }
  publish_to_engines();
  __syncthreads();
  float low[32], high[32];
  multiply_half<D>(low, keys, rows_at(0));
  wgmma_wait<0>();
  int stage = 0;
  for (int i = 0; i + 1 < count; ++i) {
    const int next = stage == kSm90Steps - 1 ? 0 : stage + 1;
    multiply_half<D>(high, keys, rows_at(stage) + kHalfRows * 128);
    add_half(a, shared, stage, 0, low, sums);
    wgmma_wait<0>();
    wait_copies<0>();
    own.store(next, shared);
    publish_to_engines();
    __syncthreads();  // barrier: step i + 1 has arrived, and no warp reads step i - 1 any more
    multiply_half<D>(low, keys, rows_at(next));
    if (i + 2 < count) {
      const int free = next == kSm90Steps - 1 ? 0 : next + 1;
      ask_rows<D>(a, i + 2, free, shared);
      own.ask(a, i + 2, free, shared);
    }
    add_half(a, shared, stage, kHalfRows, high, sums);
    wgmma_wait<0>();
    stage = next;
  }
  multiply_half<D>(high, keys, rows_at(stage) + kHalfRows * 128);
  add_half(a, shared, stage, 0, low, sums);
  wgmma_wait<0>();
  add_half(a, shared, stage, kHalfRows, high, sums);
}

template <int D>
__global__ void __launch_bounds__(kScoreThreads, 2)
    column_sums_sm90(const __grid_constant__ ScoreArgs a) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Shared = ColumnsSm90Shared<D>;
  extern __shared__ uint8_t space[];
  // An offset keeps the address recognisable as shared memory; a rounded pointer would not.
  auto& shared = *reinterpret_cast<Shared*>(space + (-shared_address(space) & 1023));
  find_job(a, shared);
  const ScoreJob& job = shared.job;
  load_keys<D>(a, job.keys, job.page_shift, shared.tile * kScoreKeys, job.row_position, shared);
  KeyFragments<D> keys;
  keys.load(shared);
  if (threadIdx.x == 0) shared.flat = stretch_of(shared);
  __syncthreads();  // barrier: all keys are in registers
  float sums[2] = {0, 0};
  sum_steps<D>(a, keys, shared, sums);
  write_columns<false>(a, shared, sums, sums);
#endif
}

template <int D>
void launch(Stream stream, const ScoreArgs& args, int blocks) {
  constexpr int kBytes = sizeof(ColumnsSm90Shared<D>) + 1024;
  static_assert(kBytes <= 113 * 1024);  // two thread blocks per processor
  launch_scores(stream, column_sums_sm90<D>, blocks, kBytes, "column_sums_sm90", args);
}

}  // namespace

void launch_column_sums_sm90(Stream stream, const ScoreArgs& args, int blocks, int head_dim) {
  (head_dim == 64 ? launch<64> : launch<128>)(stream, args, blocks);
}

}  // namespace longhaul::cuda
