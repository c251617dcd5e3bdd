#include <algorithm>

#include "ops/core/gpu/reductions.cuh"
#include "ops/maps/maps.gpu.h"
#include "ops/maps/score_call.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kMostRows = 2048;
/// Pitch that puts lanes' rows of a step in different banks.
constexpr int kMapPitch = kScoreKeys + 4;

/// Number of diagonals in a tile of keys over all rows. Entry key - row + row_count - 1 is that of
/// key and row, which count within the tile and the task.
__host__ __device__ constexpr int line_width(int row_count) { return kScoreKeys + row_count - 1; }

template <int D>
struct LineShared {
  ScoreShared<D> scores;
  float map[kStepRows * kMapPitch];
  float diagonals[line_width(kMostRows) + 1];
};

struct Lines {
  float* map;
  float* diagonals;
  int row_count;
  float sums[2] = {0, 0};

  __device__ __forceinline__ void add(const float (&p)[kStepRows / 8][4], int first) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int g = 0; g < kStepRows / 8; ++g) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sums[i / 2] += p[g][i];
        map[(8 * g + 2 * (lane % 4) + i % 2) * kMapPitch + 16 * warp + lane / 4 + 8 * (i / 2)] =
            p[g][i];
      }
    }
    __syncthreads();
    const int e = static_cast<int>(threadIdx.x);
    if (e < kScoreKeys + kStepRows - 1) {
      float sum = 0;
#pragma unroll 8
      for (int r = 0; r < kStepRows; ++r) {
        const int key = e - (kStepRows - 1) + r;
        if (key >= 0 && key < kScoreKeys) sum += map[r * kMapPitch + key];
      }
      const int at = e - (kStepRows - 1) - first + row_count - 1;
      if (at >= 0) diagonals[at] += sum;  // lower entries belong to rows past the last
    }
    // The next step's barrier precedes the next write to the map.
  }
  __device__ __forceinline__ void rows_done() {}
};

template <int D>
__global__ void __launch_bounds__(kScoreThreads, D <= 128 ? 2 : 1)
    line_sums_kernel(const __grid_constant__ ScoreArgs a) {
  extern __shared__ uint4 memory[];
  auto& all = *reinterpret_cast<LineShared<D>*>(memory);
  auto& shared = all.scores;
  find_job(a, shared);
  const ScoreJob& job = shared.job;
  const int32_t first = shared.tile * kScoreKeys;
  const int width = line_width(job.row_count);
  for (int i = threadIdx.x; i < width; i += kScoreThreads) all.diagonals[i] = 0;
  load_keys<D>(a, job.keys, job.page_shift, first, job.row_position, shared);
  KeyFragments<D> keys;
  keys.load(shared);
  RowsOfStep rows = seeing_rows(job, shared.offsets, min(kScoreKeys, job.keys.count - first));
  rows.head_begin = job.head_begin + shared.list;
  rows.heads = 1;
  __syncthreads();  // barrier: all keys are in registers
  Lines lines{all.map, all.diagonals, job.row_count};
  over_rows<D>(a, keys, rows, shared, lines);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float sum = quad_sum(lines.sums[h]);
    const int32_t key = first + 16 * warp + lane / 4 + 8 * h;
    if (lane % 4 == 0 && key < job.keys.count) job.out[shared.list * job.stride + key] = sum;
  }
  __syncthreads();
  float* piece =
      a.room + job.partial + (static_cast<int64_t>(shared.list) * job.tiles + shared.tile) * width;
  for (int i = threadIdx.x; i < width; i += kScoreThreads) piece[i] = all.diagonals[i];
}

/// Adds the tiles' pieces of every diagonal in the order of the keys.
__global__ void __launch_bounds__(256) add_pieces(const __grid_constant__ ScoreArgs a) {
  const ScoreJob& job = a.jobs()[blockIdx.z];
  const int list = static_cast<int>(blockIdx.y);
  const int64_t distance = blockIdx.x * int64_t{256} + threadIdx.x;
  const int64_t keys = job.keys.count;
  if (list >= job.lists || distance >= keys) return;
  const int width = line_width(job.row_count);
  const float* pieces = a.room + job.partial + static_cast<int64_t>(list) * job.tiles * width;
  // Entry e of tile t has distance keys - 1 - 128 t - e.
  const int64_t last = keys - 1 - distance;
  int64_t tile = last - (width - 1) <= 0 ? 0 : (last - width + kScoreKeys) / kScoreKeys;
  float sum = 0;
  for (; tile < job.tiles && tile * kScoreKeys <= last; ++tile) {
    sum += pieces[tile * width + last - tile * kScoreKeys];
  }
  job.more_out[list * job.stride + distance] = sum;
}

template <int D>
void launch(Stream stream, const ScoreArgs& args, int blocks) {
  constexpr int kBytes = sizeof(LineShared<D>);
  static_assert(kBytes <= 99 * 1024);  // shared memory of the smallest cards (sm_86, 89 and 120)
  launch_scores(stream, line_sums_kernel<D>, blocks, kBytes, "line_sums", args);
}

}  // namespace

bool line_sums(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks,
               std::span<const LineSums> sums, ScoreScratch& scratch) {
  if (!has_score_tile(call.head_dim)) return false;
  thread_local ScoreJobs jobs;
  jobs.clear();
  int64_t numbers = 0, most_keys = 0;
  int most_heads = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const AttendTask& task = tasks[i];
    const KeySegment& s = task.segments[0];
    if (task.head_count <= 0 || s.count == 0) continue;
    if (task.row_count <= 0 || task.row_count > kMostRows) return false;
    if (sums[i].columns.place().host() || sums[i].diagonals.place().host()) return false;
    ScoreJob* const job = jobs.add(call, task, s);
    if (job == nullptr || s.rows.head_dim != call.head_dim) return false;
    job->lists = task.head_count;
    job->head_count = 1;
    job->tiles = static_cast<int32_t>((s.count + kScoreKeys - 1) / kScoreKeys);
    job->stride = s.count;
    job->out = sums[i].columns.address();
    job->more_out = sums[i].diagonals.address();
    job->partial = numbers;
    numbers += int64_t{job->lists} * job->tiles * line_width(task.row_count);
    most_keys = std::max(most_keys, s.count);
    most_heads = std::max(most_heads, task.head_count);
  }
  if (jobs.all().empty()) return true;
  const ScoreArgs args = prepare(stream, call, jobs, QueryRowForm::kBF16, numbers, scratch);
  with_head_dim(call.head_dim, [&](auto dim) { launch<dim()>(stream, args, jobs.blocks()); });
  const dim3 grid(static_cast<unsigned>((most_keys + 255) / 256), static_cast<unsigned>(most_heads),
                  static_cast<unsigned>(jobs.all().size()));
  add_pieces<<<grid, 256, 0, stream>>>(args);
  check_launch("add_pieces");
  return true;
}

}  // namespace longhaul::cuda
