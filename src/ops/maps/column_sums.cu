#include <algorithm>

#include "ops/maps/column_rows_sm90.cuh"
#include "ops/maps/column_sums.cuh"
#include "ops/maps/maps.gpu.h"
#include "ops/maps/score_decode.cuh"

namespace longhaul::cuda {
namespace {

/// Sums over rows for this lane's two keys.
template <bool kSquares>
struct Columns {
  float sums[2] = {0, 0}, squares[2] = {0, 0};
  float of_row[kSquares ? kStepRows / 8 : 1][4] = {};  ///< sum over the row's heads so far

  __device__ __forceinline__ void add(const float (&p)[kStepRows / 8][4], int) {
#pragma unroll
    for (int g = 0; g < kStepRows / 8; ++g) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (kSquares) {
          of_row[g][i] += p[g][i];
        } else {
          sums[i / 2] += p[g][i];
        }
      }
    }
  }
  __device__ __forceinline__ void rows_done() {
    if constexpr (kSquares) {
#pragma unroll
      for (int g = 0; g < kStepRows / 8; ++g) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums[i / 2] += of_row[g][i];
          squares[i / 2] = fmaf(of_row[g][i], of_row[g][i], squares[i / 2]);
          of_row[g][i] = 0;
        }
      }
    }
  }
};

template <int D, bool kSquares>
__device__ __forceinline__ void sum_columns(const ScoreArgs& a, const KeyFragments<D>& keys,
                                            const RowsOfStep& rows, ScoreShared<D>& shared) {
  Columns<kSquares> columns;
  over_rows<D>(a, keys, rows, shared, columns);
  write_columns<kSquares>(a, shared, columns.sums, columns.squares);
}

template <int D>
__global__ void __launch_bounds__(kScoreThreads, D <= 128 ? 2 : 1)
    column_sums_kernel(const __grid_constant__ ScoreArgs a) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<ScoreShared<D>*>(memory);
  find_job(a, shared);
  const ScoreJob& job = shared.job;
  const int32_t first = shared.tile * kScoreKeys;
  load_keys<D>(a, job.keys, job.page_shift, first, job.row_position, shared);
  KeyFragments<D> keys;
  keys.load(shared);
  RowsOfStep rows = seeing_rows(job, shared.offsets, min(kScoreKeys, job.keys.count - first));
  rows.head_begin = job.head_begin + shared.list * job.head_count;
  rows.heads = job.head_count;
  rows = part_of(rows, shared.part, job.parts);
  __syncthreads();  // barrier: all keys are in registers
  if (job.more_out == nullptr) {
    sum_columns<D, false>(a, keys, rows, shared);
  } else {
    sum_columns<D, true>(a, keys, rows, shared);
  }
}

/// Column sums of few rows, for all heads at once.
template <int D>
__global__ void __launch_bounds__(kScoreThreads, D <= 128 ? 2 : 1)
    column_sums_decode(const __grid_constant__ ScoreArgs a, bool per_head) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<ScoreShared<D>*>(memory);
  find_job(a, shared);
  const float* const map = flat_map<D>(a, shared);
  const ScoreJob& job = shared.job;
  const int lists = per_head ? job.head_count : 1;
  for (int i = static_cast<int>(threadIdx.x); i < kScoreKeys * lists; i += kScoreThreads) {
    const int k = i % kScoreKeys, list = i / kScoreKeys, key = shared.tile * kScoreKeys + k;
    if (key >= job.keys.count) continue;
    float sum = 0, square = 0;
    for (int row = 0; row < job.row_count; ++row) {
      const float x = per_head ? map[k * kMapPitch + row * job.head_count + list]
                               : sum_of_heads(map, job, k, row);
      sum += x;
      square = fmaf(x, x, square);
    }
    const int64_t at = list * job.stride + key;
    job.out[at] += sum;
    if (job.more_out != nullptr) job.more_out[at] += square;
  }
}

/// Adds the parts of divided jobs in order. One row of thread blocks per job.
__global__ void __launch_bounds__(256) add_parts_kernel(const __grid_constant__ ScoreArgs a) {
  await_turn();
  const ScoreJob& job = a.jobs()[blockIdx.y];
  if (job.parts == 1) return;
  const int64_t keys = job.keys.count, all = keys * job.lists;
  const bool squares = job.more_out != nullptr;
  for (int64_t i = blockIdx.x * int64_t{256} + threadIdx.x; i < all;
       i += gridDim.x * int64_t{256}) {
    const int list = static_cast<int>(i / keys);
    const int64_t key = i % keys;
    float sum = 0, square = 0;
    for (int part = 0; part < job.parts; ++part) {
      const float* from = partial_of(a, job, list, part) + key;
      sum += from[0];
      if (squares) square += from[keys];
    }
    job.out[list * job.stride + key] += sum;
    if (squares) job.more_out[list * job.stride + key] += square;
  }
}

template <int D>
void launch(Stream stream, const ScoreArgs& args, int blocks) {
  constexpr int kBytes = sizeof(ScoreShared<D>);
  static_assert(kBytes <= 99 * 1024);  // shared memory of the smallest cards (sm_86, 89 and 120)
  launch_scores(stream, column_sums_kernel<D>, blocks, kBytes, "column_sums", args);
}

template <int D>
void launch_decode(Stream stream, const ScoreArgs& args, int blocks, bool per_head) {
  launch_scores(stream, column_sums_decode<D>, blocks, sizeof(ScoreShared<D>), "column_sums", args,
                per_head);
}

/// Adds jobs for all segments of a task. Returns false if the kernels do not support one.
bool add_jobs(const AttendCall& call, const AttendTask& task, const ColumnTarget& target,
              bool decode, ScoreJobs& jobs) {
  if (task.row_count <= 0 || task.head_count <= 0) return true;
  if (target.sums.place().host()) return false;
  int64_t keys = 0, first = 0;
  for (const KeySegment& s : task.segments) keys += s.count;
  for (const KeySegment& s : task.segments) {
    if (s.count == 0) continue;
    ScoreJob* const job = jobs.add(call, task, s);
    if (job == nullptr || s.rows.head_dim != call.head_dim) return false;
    if (target.per_head && !decode) {
      job->lists = task.head_count;
      job->head_count = 1;
    }
    job->stride = keys;
    job->out = target.sums.address() + first;
    job->more_out = target.squares.empty() ? nullptr : target.squares.address() + first;
    job->tiles = static_cast<int32_t>((s.count + kScoreKeys - 1) / kScoreKeys);
    first += s.count;
  }
  return true;
}

/// Adds the partial results of jobs that are split over several thread blocks.
void add_parts(Stream stream, const ScoreArgs& args, std::span<const ScoreJob> jobs) {
  int64_t most = 0;
  for (const ScoreJob& job : jobs) most = std::max(most, job.keys.count * int64_t{job.lists});
  const dim3 grid(static_cast<unsigned>(std::min<int64_t>((most + 255) / 256, 1024)),
                  static_cast<unsigned>(jobs.size()));
  launch_early(stream, "add_parts", add_parts_kernel, grid, 256, 0, args);
}

/// Whether the wgmma kernel supports all jobs. It computes no squares. It finds the query row of a
/// flat row by a multiplication that is exact below a bound.
bool takes_sm90(const AttendCall& call, const ScoreJobs& jobs, const ScoreScratch& scratch) {
  if (!scratch.has_sm90() || (call.head_dim != 64 && call.head_dim != 128)) return false;
  return std::ranges::all_of(jobs.all(), [](const ScoreJob& job) {
    return job.more_out == nullptr &&
           int64_t{job.row_count} * job.head_count * job.head_count < (int64_t{1} << 31);
  });
}

/// Number of parts into which the wgmma kernel's `steps` of rows are divided if undivided jobs have
/// `blocks` thread blocks. Two thread blocks run on a processor. Adding the parts is another
/// kernel, which takes 2 us of about 80 for 512 rows of Llama 3.1 8B. Every part loads the keys
/// again, which takes about as long as half a step of rows.
int64_t parts_of_sm90(int64_t blocks, int64_t steps, int64_t processors) {
  const double again = 0.5 / static_cast<double>(std::max<int64_t>(1, steps));
  return parts_that_fill(blocks, 2 * processors, 64, {.once = 1.6 * again, .each = again});
}

/// Divides jobs by rows if their keys alone would leave the device idle. Returns the floats of
/// scratch for the parts.
int64_t cut_rows(std::vector<ScoreJob>& jobs, int processors, bool sm90) {
  int64_t blocks = 0, steps = 0, numbers = 0;
  for (const ScoreJob& job : jobs) {
    blocks += job.blocks();
    steps = std::max(steps, int64_t{job.row_count} * job.head_count / kSm90StepRows);
  }
  if (blocks == 0) return 0;
  const int64_t wanted = sm90 ? parts_of_sm90(blocks, steps, processors)
                              : std::max<int64_t>(1, 4 * int64_t{processors} / blocks);
  for (ScoreJob& job : jobs) {
    // A part has at least eight steps.
    int64_t most = int64_t{job.row_count} * job.head_count / (8 * kSm90StepRows);
    if (!sm90) {
      const int64_t tiles = (job.row_count + kStepRows - 1) / kStepRows;
      most = std::min(tiles, tiles * job.head_count / 8);
    }
    job.parts = static_cast<int32_t>(std::clamp<int64_t>(std::min(wanted, most), 1, 64));
    if (job.parts == 1) continue;
    job.partial = numbers;
    numbers += int64_t{job.lists} * job.parts * job.keys.count * (job.more_out == nullptr ? 1 : 2);
  }
  return numbers;
}

/// Whether the kernel for few rows supports all tasks.
bool all_decode(std::span<const AttendTask> tasks, std::span<const ColumnTarget> targets) {
  return std::ranges::all_of(tasks, has_decode_rows) &&
         std::ranges::all_of(targets, [&](const ColumnTarget& target) {
           return target.per_head == targets.front().per_head;
         });
}

}  // namespace

bool column_sums(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets, ScoreScratch& scratch) {
  if (!has_score_tile(call.head_dim)) return false;
  thread_local ScoreJobs jobs;
  jobs.clear();
  const bool decode = all_decode(tasks, targets);
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!add_jobs(call, tasks[i], targets[i], decode, jobs)) return false;
  }
  if (jobs.all().empty()) return true;
  if (decode) {
    const ScoreArgs args = prepare(stream, call, jobs, QueryRowForm::kAsGiven, 0, scratch);
    with_head_dim(call.head_dim, [&](auto dim) {
      launch_decode<dim()>(stream, args, jobs.blocks(), targets.front().per_head);
    });
    return true;
  }
  const bool sm90 = takes_sm90(call, jobs, scratch);
  const int64_t numbers = cut_rows(jobs.all(), scratch.processors(), sm90);
  const ScoreArgs args = prepare(stream, call, jobs, QueryRowForm::kBF16, numbers, scratch);
  if (sm90) {
    launch_column_sums_sm90(stream, args, jobs.blocks(), call.head_dim);
  } else {
    with_head_dim(call.head_dim, [&](auto dim) { launch<dim()>(stream, args, jobs.blocks()); });
  }
  if (numbers > 0) add_parts(stream, args, jobs.all());
  return true;
}

}  // namespace longhaul::cuda
