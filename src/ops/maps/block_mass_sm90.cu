// Block attention mass on Hopper, for rows of 512 elements and more. XAttention's antidiagonal rows
// have 1,024 (8 rows of 128) or 2,048 elements. A thread block multiplies 128 flat rows by 256 keys
// with wgmma, 64 columns at a time. Each of two warpgroups holds the products of 64 rows and all
// keys, 128 registers per thread, so one thread block fills a processor.
//
// 64 columns are 4.2 MFLOP, 1,024 clocks, and 48 KiB. The second-level cache delivers these in
// about 2,000 clocks at 5.5 TB/s, which limits the kernel to half of the tensor cores' rate. Tiles
// of 128 by 128 would need a third more data. Concurrent thread blocks share keys and differ in
// rows first, so that their data stays in that cache.

#include "ops/core/gpu/hopper.cuh"
#include "ops/maps/block_mass.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kChunk = 64;  ///< columns of rows and keys per chunk
constexpr int kPieces = 8;  ///< 16-byte pieces per row of a chunk
constexpr int kStages = 4;  ///< chunks in shared memory: two being multiplied, two being loaded
constexpr int kAtOnce = kScoreThreads / kPieces;  ///< rows of which all threads load one piece each
constexpr int kRowBytes = kMassRows * 2 * kChunk, kStageBytes = kRowBytes + kWideKeys * 2 * kChunk;
static_assert(kAtOnce % 8 == 0);  // all rows of a thread have equal swizzles

struct WideShared {
  alignas(1024) uint8_t stages[kStages][kStageBytes];  ///< rows, then keys, in 128-byte swizzle
  int32_t offsets[kWideKeys];
  ScoreJob job;
  int32_t index, list, part, tile;
};

/// A thread's loads in every chunk: one piece of some rows and keys.
class Pieces {
 public:
  __device__ __forceinline__ Pieces(const MassArgs& a, const WideShared& shared) {
    const ScoreJob& job = shared.job;
    const int flat_rows = job.row_count * job.head_count, thread = static_cast<int>(threadIdx.x);
    const int n = thread / kPieces, piece = thread % kPieces;
    to_ =
        shared_address(shared.stages[0]) + static_cast<uint32_t>(n * 128 + (piece ^ (n % 8)) * 16);
#pragma unroll
    for (int i = 0; i < kMassRows / kAtOnce; ++i) {
      const int f = min(shared.part * kMassRows + n + i * kAtOnce, flat_rows - 1);
      rows_[i] = flat_row(a, job, f) + 8 * piece;
    }
#pragma unroll
    for (int i = 0; i < kWideKeys / kAtOnce; ++i) {
      const int32_t key = min(shared.tile * kWideKeys + n + i * kAtOnce, job.keys.count - 1);
      keys_[i] = key_row(job.keys, job.page_shift, 2 * a.width, key) + 16 * piece;
    }
  }

  /// Missing rows and keys are copies of the last one; their results are not used.
  __device__ __forceinline__ void bring(int chunk) const {
    const uint32_t to = to_ + static_cast<uint32_t>(chunk % kStages * kStageBytes);
#pragma unroll
    for (int i = 0; i < kMassRows / kAtOnce; ++i) {
      copy_16(to + i * kAtOnce * 128, rows_[i] + chunk * kChunk, true);
    }
#pragma unroll
    for (int i = 0; i < kWideKeys / kAtOnce; ++i) {
      copy_16(to + kRowBytes + i * kAtOnce * 128, keys_[i] + chunk * 2 * kChunk, true);
    }
  }

 private:
  uint32_t to_;
  const uint16_t* rows_[kMassRows / kAtOnce];
  const std::byte* keys_[kWideKeys / kAtOnce];
};

/// Starts the products of the warpgroup's 64 rows with all keys, for one chunk.
__device__ __forceinline__ void multiply(float (&c)[128], uint32_t stage, bool add) {
  const uint32_t rows = stage + threadIdx.x / 128 * 64 * 128, keys = stage + kRowBytes;
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kChunk / 16; ++k) {
    wgmma_shared(c, matrix_at(rows + 32 * k, 16, 1024), matrix_at(keys + 32 * k, 16, 1024),
                 add || k > 0);
  }
  wgmma_commit();
}

__device__ __forceinline__ void add_products(const MassArgs& a, WideShared& shared,
                                             float (&c)[128]) {
  const Pieces pieces(a, shared);
  const int chunks = a.width / kChunk;
#pragma unroll
  for (int i = 0; i < kStages - 2; ++i) {
    pieces.bring(i);
    commit_copies();
  }
  for (int i = 0; i < chunks; ++i) {
    wait_copies<kStages - 3>();
    publish_to_engines();
    __syncthreads();  // barrier: chunk i has arrived, and no warp multiplies chunk i - 2 any more
    multiply(c, shared_address(shared.stages[i % kStages]), i > 0);
    if (i + kStages - 2 < chunks) pieces.bring(i + kStages - 2);
    commit_copies();
    wgmma_wait<1>();
  }
  wgmma_wait<0>();
#pragma unroll
  // Keeps uses of c after the wait.
  for (int i = 0; i < 128; ++i) asm volatile("" : "+f"(c[i])::"memory");
}

__global__ void __launch_bounds__(kScoreThreads, 1)
    block_mass_sm90(const __grid_constant__ MassArgs a) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ uint8_t space[];
  // An offset keeps the address recognisable as shared memory; a rounded pointer would not.
  auto& shared = *reinterpret_cast<WideShared*>(space + (-shared_address(space) & 1023));
  find_job(a.score, shared);
  const ScoreJob& job = shared.job;
  const int at = static_cast<int>(blockIdx.x) - job.first_block;
  if (threadIdx.x == 0) shared.part = at % job.parts, shared.tile = at / job.parts;
  const int tile = at / job.parts, flat = at % job.parts * kMassRows, first = tile * kWideKeys;
  static_assert(kScoreThreads == kWideKeys);
  shared.offsets[threadIdx.x] = key_offset(
      job.keys, job.keys.shift + first + static_cast<int32_t>(threadIdx.x), job.row_position);
  __syncthreads();
  float c[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) c[i] = 0;
  if (any_seen(job, flat, shared.offsets, min(kWideKeys, job.keys.count - first))) {
    add_products(a, shared, c);
  }
  if (a.score.logits.bend != 0) {
#pragma unroll
    for (int i = 0; i < 128; ++i) c[i] = tanh_of(c[i] * a.score.logits.bend);
  }
#pragma unroll
  for (int half = 0; half < kWideKeys / kScoreKeys; ++half) {
    const int of_128 = tile * (kWideKeys / kScoreKeys) + half;
    if (of_128 >= mass_tiles(job)) break;
    write_sums(a, job, flat, of_128, shared.offsets + half * kScoreKeys,
               [&](int g, int i) -> float& { return c[64 * half + 4 * g + i]; });
  }
#endif
}

}  // namespace

void launch_block_mass_sm90(Stream stream, const MassArgs& args, int blocks) {
  constexpr int kBytes = sizeof(WideShared) + 1024;
  static_assert(kBytes <= 227 * 1024);
  launch_scores(stream, block_mass_sm90, blocks, kBytes, "block_mass_sm90", args);
}

}  // namespace longhaul::cuda
