#include "attention/methods/ltri/tile_maps.gpu.h"
#include "ops/maps/score_decode.cuh"

namespace longhaul::cuda {
namespace {

/// The attention probabilities of 32 rows, summed over the heads that have been processed.
struct Map {
  float sums[kStepRows / 8][4] = {};

  __device__ __forceinline__ void add(const float (&p)[kStepRows / 8][4], int) {
#pragma unroll
    for (int g = 0; g < kStepRows / 8; ++g) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[g][i] += p[g][i];
    }
  }
  __device__ __forceinline__ void rows_done() {}
};

/// Each thread block computes 128 keys and 32 rows of a map, summed over the heads of one segment
/// after another. If kOwn is true, each segment has thread blocks of its own, which write their
/// sums to scratch [rows, keys].
template <int D, bool kOwn>
__global__ void __launch_bounds__(kScoreThreads, D <= 128 ? 2 : 1)
    tile_maps_kernel(const __grid_constant__ ScoreArgs a) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<ScoreShared<D>*>(memory);
  find_job(a, shared);
  const ScoreJob& job = shared.job;
  const int segments = kOwn ? 1 : job.segments;
  const int32_t first = shared.tile * kScoreKeys;
  RowsOfStep rows{shared.part * kStepRows, min(job.row_count, (shared.part + 1) * kStepRows), 0,
                  job.head_count};
  Map map;
  for (int s = 0; s < segments; ++s) {
    if (s > 0) {
      __syncthreads();  // barrier: all warps have finished reading the previous job and its rows
      if (threadIdx.x == 0) shared.job = a.jobs()[shared.index + s];
      __syncthreads();
    }
    load_keys<D>(a, job.keys, job.page_shift, first, job.row_position, shared);
    KeyFragments<D> keys;
    keys.load(shared);
    rows.head_begin = job.head_begin;
    __syncthreads();  // barrier: all keys are in registers
    over_rows<D>(a, keys, rows, shared, map);
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int g = 0; g < kStepRows / 8; ++g) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = rows.begin + 8 * g + 2 * (lane % 4) + i % 2;
      const int32_t key = first + 16 * warp + lane / 4 + 8 * (i / 2);
      if (row >= rows.end || key >= job.keys.count) continue;
      if constexpr (kOwn) {
        a.room[job.partial + int64_t{row} * job.keys.count + key] = map.sums[g][i];
      } else {
        job.out[row * job.stride + key] += map.sums[g][i];
      }
    }
  }
}

/// Like tile_maps_kernel, for few rows. Every segment has thread blocks of its own, which write the
/// sums over its heads to scratch, [rows, keys] per segment.
template <int D>
__global__ void __launch_bounds__(kScoreThreads, D <= 128 ? 2 : 1)
    tile_maps_decode(const __grid_constant__ ScoreArgs a) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<ScoreShared<D>*>(memory);
  find_job(a, shared);
  const float* const map = flat_map<D>(a, shared);
  const ScoreJob& job = shared.job;
  float* const out = a.room + job.partial;
  for (int i = static_cast<int>(threadIdx.x); i < kScoreKeys * job.row_count; i += kScoreThreads) {
    const int k = i % kScoreKeys, row = i / kScoreKeys, key = shared.tile * kScoreKeys + k;
    if (key >= job.keys.count) continue;
    out[int64_t{row} * job.keys.count + key] = sum_of_heads(map, job, k, row);
  }
}

/// Adds the sums of all segments in order. There is one row of thread blocks per tile.
__global__ void __launch_bounds__(256) add_segments(const __grid_constant__ ScoreArgs a) {
  await_turn();
  const ScoreJob* const jobs = a.jobs();
  const ScoreJob& first = jobs[blockIdx.y];
  const int keys = first.keys.count;
  const int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x);
  if (first.segments == 0 || i >= first.row_count * keys) return;
  float sum = 0;
  for (int s = 0; s < first.segments; ++s) sum += a.room[jobs[blockIdx.y + s].partial + i];
  first.out[i / keys * first.stride + i % keys] += sum;
}

/// Adds jobs so that every segment of a tile has as many thread blocks as its first segment, and
/// memory for its sums in scratch. Returns the number of floats of scratch.
int64_t give_own_blocks(std::vector<ScoreJob>& jobs) {
  int64_t numbers = 0;
  int left = 0;  // number of segments of the tile that have no thread blocks yet
  for (ScoreJob& job : jobs) {
    const bool of_tile_before = left > 0;
    left = of_tile_before ? left - 1 : job.segments - 1;
    if (of_tile_before) job.segments = 0, job.parts = (&job - 1)->parts;
    job.tiles = (job.keys.count + kScoreKeys - 1) / kScoreKeys;
    job.partial = numbers;
    numbers += int64_t{job.row_count} * job.keys.count;
  }
  return numbers;
}

void launch_add_segments(Stream stream, const ScoreJobs& of, const ScoreArgs& args) {
  int64_t most = 0;
  for (const ScoreJob& job : of.all()) {
    most = std::max(most, int64_t{job.row_count} * job.keys.count);
  }
  const dim3 grid(static_cast<unsigned>((most + 255) / 256),
                  static_cast<unsigned>(of.all().size()));
  launch_early(stream, "add_segments", add_segments, grid, 256, 0, args);
}

void launch_decode(Stream stream, const AttendCall& call, ScoreJobs& jobs, ScoreScratch& scratch) {
  for (ScoreJob& job : jobs.all()) job.parts = 1;
  const int64_t numbers = give_own_blocks(jobs.all());
  const ScoreArgs args = prepare(stream, call, jobs, QueryRowForm::kAsGiven, numbers, scratch);
  with_head_dim(call.head_dim, [&](auto dim) {
    constexpr int D = dim();
    launch_scores(stream, tile_maps_decode<D>, jobs.blocks(), sizeof(ScoreShared<D>), "tile_maps",
                  args);
  });
  launch_add_segments(stream, jobs, args);
}

/// Launches the kernels. If there are few tiles, segments are processed in parallel.
void launch_many(Stream stream, const AttendCall& call, ScoreJobs& jobs, ScoreScratch& scratch) {
  int64_t blocks = 0;
  for (const ScoreJob& job : jobs.all()) blocks += job.blocks();
  const bool own = blocks < scratch.processors();
  const int64_t numbers = own ? give_own_blocks(jobs.all()) : 0;
  const ScoreArgs args = prepare(stream, call, jobs, QueryRowForm::kBF16, numbers, scratch);
  with_head_dim(call.head_dim, [&](auto dim) {
    constexpr int D = dim();
    launch_scores(stream, own ? tile_maps_kernel<D, true> : tile_maps_kernel<D, false>,
                  jobs.blocks(), sizeof(ScoreShared<D>), "tile_maps", args);
  });
  if (own) launch_add_segments(stream, jobs, args);
}

bool add_jobs(const AttendCall& call, const MapTile& tile, ScoreJobs& jobs) {
  if (tile.row_count <= 0 || tile.keys.empty() || tile.keys[0].count == 0) return true;
  if (tile.map.place().host()) return false;
  const int segments = static_cast<int>(tile.keys.size());
  AttendTask task;
  task.head_count = call.heads / segments;
  task.row_begin = tile.row_begin;
  task.row_count = tile.row_count;
  task.row_position = tile.row_position;
  for (int s = 0; s < segments; ++s, task.head_begin += task.head_count) {
    const KeySegment& keys = tile.keys[static_cast<size_t>(s)];
    ScoreJob* const job = jobs.add(call, task, keys);
    if (job == nullptr || keys.rows.head_dim != call.head_dim) return false;
    job->segments = segments;
    job->out = tile.map.address();
    job->stride = tile.stride;
    if (s > 0) continue;  // processed by the thread blocks of the first segment
    job->tiles = static_cast<int32_t>((keys.count + kScoreKeys - 1) / kScoreKeys);
    job->parts = (tile.row_count + kStepRows - 1) / kStepRows;
  }
  return true;
}

}  // namespace

bool tile_maps(Stream stream, const AttendCall& call, std::span<const MapTile> tiles,
               ScoreScratch& scratch) {
  if (!has_score_tile(call.head_dim)) return false;
  thread_local ScoreJobs jobs;
  jobs.clear();
  for (const MapTile& tile : tiles) {
    if (!add_jobs(call, tile, jobs)) return false;
  }
  if (jobs.all().empty()) return true;
  const auto decode = [&](const MapTile& tile) {
    return int64_t{tile.row_count} * call.heads <= kStepRows * std::ssize(tile.keys);
  };
  (std::ranges::all_of(tiles, decode) ? launch_decode : launch_many)(stream, call, jobs, scratch);
  return true;
}

}  // namespace longhaul::cuda
