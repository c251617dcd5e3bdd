#include <algorithm>

#include "ops/core/gpu/reductions.cuh"
#include "ops/maps/block_mass.cuh"
#include "ops/maps/maps.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kRows = kMassRows;  ///< flat rows per thread block, 16 per warp
constexpr int kChunk = 64;        ///< elements of rows and keys in shared memory at a time
constexpr int kPieces = 8;        ///< 16-byte pieces per chunk
constexpr int kEach = kRows * kPieces / kScoreThreads;  ///< pieces of rows that a thread loads
static_assert(kRows == kScoreKeys);

struct MassShared {
  uint4 rows[2][kRows * kPitch<kChunk> / 16];
  uint4 keys[2][kScoreKeys * kPitch<kChunk> / 16];
  int32_t offsets[kScoreKeys];
  ScoreJob job;
  int32_t index, list, part, tile;
};

/// A thread's loads in every chunk: piece `threadIdx.x % 8` of four rows and four keys.
struct Source {
  const uint16_t* rows[kEach];
  const std::byte* keys[kEach];
  bool row_present[kEach], key_present[kEach];

  __device__ __forceinline__ Source(const MassArgs& a, const MassShared& shared) {
    const ScoreJob& job = shared.job;
    const int bytes = stored_bytes(job.keys.key_type, a.width);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int n = static_cast<int>(threadIdx.x) / kPieces + i * (kScoreThreads / kPieces);
      const int f = shared.part * kRows + n;
      const int32_t key = shared.tile * kScoreKeys + n;
      row_present[i] = f < job.row_count * job.head_count;
      key_present[i] = key < job.keys.count;
      rows[i] = flat_row(a, job, row_present[i] ? f : 0);
      keys[i] = key_row(job.keys, job.page_shift, bytes, key_present[i] ? key : 0);
    }
  }

  __device__ __forceinline__ void bring(const MassArgs& a, MassShared& shared, int chunk) const {
    const int piece = static_cast<int>(threadIdx.x) % kPieces, at = chunk * kPieces + piece;
    const bool inside = at * 8 < a.width;
    const uint32_t to_rows = shared_address(shared.rows[chunk % 2]);
    const uint32_t to_keys = shared_address(shared.keys[chunk % 2]);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int n = static_cast<int>(threadIdx.x) / kPieces + i * (kScoreThreads / kPieces);
      const auto to = static_cast<uint32_t>(n * kPitch<kChunk> + piece * 16);
      const bool row = inside && row_present[i];
      copy_16(to_rows + to, rows[i] + (row ? at * 8 : 0), row);
      copy_eight(to_keys + to, keys[i], shared.job.keys.key_type, at, inside && key_present[i]);
    }
  }
};

/// Adds the products of this warp's 16 rows and all keys for one chunk.
__device__ __forceinline__ void add_products(const MassShared& shared, int stage, int steps,
                                             float (&c)[kScoreKeys / 8][4]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t row = shared_address(shared.rows[stage]) +
                       (16 * warp + lane % 16) * kPitch<kChunk> + lane / 16 * 16;
  const uint32_t key = shared_address(shared.keys[stage]) +
                       (lane % 8 + 8 * (lane / 16)) * kPitch<kChunk> + lane / 8 % 2 * 16;
#pragma unroll
  for (int k = 0; k < kChunk / 16; ++k) {
    if (k >= steps) break;
    uint32_t a[4];
    load_matrices(a, row + 32 * k);
#pragma unroll
    for (int g = 0; g < kScoreKeys / 16; ++g) {
      uint32_t b[4];
      load_matrices(b, key + 16 * g * kPitch<kChunk> + 32 * k);
      multiply(c[2 * g], a, b[0], b[1]);
      multiply(c[2 * g + 1], a, b[2], b[3]);
    }
  }
}

/// Two thread blocks per processor: one computes while the other waits for keys or computes
/// exponentials.
__global__ void __launch_bounds__(kScoreThreads, 2)
    block_mass_kernel(const __grid_constant__ MassArgs a) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<MassShared*>(memory);
  find_job(a.score, shared);
  const ScoreJob& job = shared.job;
  const int32_t first = shared.tile * kScoreKeys;
  if (threadIdx.x < kScoreKeys) {
    shared.offsets[threadIdx.x] = key_offset(
        job.keys, job.keys.shift + first + static_cast<int32_t>(threadIdx.x), job.row_position);
  }
  __syncthreads();
  float c[kScoreKeys / 8][4];
#pragma unroll
  for (int g = 0; g < kScoreKeys / 8; ++g) {
#pragma unroll
    for (int i = 0; i < 4; ++i) c[g][i] = 0;
  }
  if (any_seen(job, shared.part * kRows, shared.offsets, min(kScoreKeys, job.keys.count - first))) {
    const Source source(a, shared);
    const int chunks = (a.width + kChunk - 1) / kChunk;
    source.bring(a, shared, 0);
    commit_copies();
    for (int i = 0; i < chunks; ++i) {
      wait_copies<0>();
      __syncthreads();  // barrier: chunk i has arrived, and no warp reads the previous one any more
      if (i + 1 < chunks) source.bring(a, shared, i + 1);
      commit_copies();
      add_products(shared, i % 2, min(kChunk, a.width - i * kChunk) / 16, c);
    }
  }
  bend_logits(c, a.score.logits.bend);
  write_sums(a, job, shared.part * kRows, shared.tile, shared.offsets,
             [&](int g, int i) -> float& { return c[g][i]; });
}

/// Converts sums to shares of the rows' totals. One thread block per flat row.
__global__ void __launch_bounds__(128) to_shares(const __grid_constant__ MassArgs a) {
  __shared__ float of_warps[4];
  const ScoreJob& job = a.score.jobs()[blockIdx.y];
  const int f = static_cast<int>(blockIdx.x);
  if (f >= job.row_count * job.head_count) return;
  const float* tops = tops_of(a, job, f);
  float top = kNothingSeen;
  for (int t = threadIdx.x; t < mass_tiles(job); t += blockDim.x) top = fmaxf(top, tops[t]);
  top = block_result<false>(top, of_warps);
  const int blocks = static_cast<int>(job.stride), per_tile = kScoreKeys / a.block;
  float* sums = job.out + f * job.stride;
  float total = 0;
  for (int b = threadIdx.x; b < blocks; b += blockDim.x) {
    total += sums[b] * exp2_of(tops[b / per_tile] - top);
  }
  total = block_result<true>(total, of_warps);
  for (int b = threadIdx.x; b < blocks; b += blockDim.x) {
    sums[b] = total > 0 ? sums[b] * exp2_of(tops[b / per_tile] - top) / total : 0.0f;
  }
  if (threadIdx.x != 0) return;
  const int64_t row = job.row_begin + f / job.head_count;
  job.more_out[row * a.score.heads + job.head_begin + f % job.head_count] =
      total > 0 ? top * 0.69314718056f + logf(total) : -INFINITY;
}

}  // namespace

bool block_mass(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks, int block,
                std::span<const View<float>> masses, ScoreScratch& scratch) {
  if (block < 8 || kScoreKeys % block != 0 || call.head_dim % 16 != 0) return false;
  thread_local ScoreJobs jobs;
  jobs.clear();
  int64_t numbers = 0, most_rows = 0;
  bool wide = scratch.has_sm90();
  for (size_t i = 0; i < tasks.size(); ++i) {
    const AttendTask& task = tasks[i];
    if (task.row_count <= 0 || task.head_count <= 0) continue;
    if (masses[i].place().host()) return false;
    const KeySegment& s = task.segments[0];
    ScoreJob* const job = jobs.add(call, task, s);
    if (job == nullptr || s.rotate || s.rows.head_dim != call.head_dim) return false;
    const int64_t rows = int64_t{task.row_count} * task.head_count;
    if (rows > (1 << 30)) return false;
    job->tiles = mass_tiles(*job);
    wide = wide && takes_sm90(*job, call.head_dim);
    job->parts = static_cast<int32_t>((rows + kRows - 1) / kRows);
    job->stride = block_count(s.count, block);
    job->out = masses[i].address();
    job->more_out = call.lse.address();
    job->partial = numbers;
    numbers += rows * job->tiles;
    most_rows = std::max(most_rows, rows);
  }
  if (jobs.all().empty()) return true;
  for (ScoreJob& job : jobs.all()) {
    if (wide) job.tiles = wide_tiles(job);
  }
  const MassArgs args{prepare(stream, call, jobs, QueryRowForm::kBF16, numbers, scratch),
                      call.head_dim, block};
  if (jobs.blocks() > 0 && wide) {
    launch_block_mass_sm90(stream, args, jobs.blocks());
  } else if (jobs.blocks() > 0) {
    constexpr int kBytes = sizeof(MassShared);
    static_assert(kBytes <= 99 * 1024);  // shared memory of the smallest cards (sm_86, 89 and 120)
    check(cudaFuncSetAttribute(block_mass_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               kBytes),
          "shared memory of block_mass");
    block_mass_kernel<<<static_cast<unsigned>(jobs.blocks()), kScoreThreads, kBytes, stream>>>(
        args);
    check_launch("block_mass");
  }
  const dim3 grid(static_cast<unsigned>(most_rows), static_cast<unsigned>(jobs.all().size()));
  to_shares<<<grid, 128, 0, stream>>>(args);
  check_launch("to_shares");
  return true;
}

}  // namespace longhaul::cuda
