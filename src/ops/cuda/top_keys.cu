#include <algorithm>
#include <vector>

#include "ops/cuda/page_map.h"
#include "ops/cuda/top_keys.cuh"
#include "ops/cuda/top_keys.h"

namespace longhaul::cuda {
namespace {

constexpr int kFewFlatRows = 16;  ///< of a block whose warps read different keys
constexpr int kManyFlatRows = 128;
constexpr int kFewWarps = 2, kFewStep = 16, kFewSteps = 8;  ///< a whole tile under way
constexpr int kManyStep = 64;  ///< keys that are in shared memory, twice

/// Sixteen flat rows of a warp and their best keys so far.
template <int D, int K>
struct RowsAndBest {
  uint32_t q[D / 16][4];
  BestList<K> best[2];
  ScoredKey of_tile[2] = {kNoKeyYet, kNoKeyYet};  ///< this lane's, for TopRule::kTile

  __device__ __forceinline__ void load(const TopArgs& a, const ScoreJob& job, int flat) {
    const int lane = threadIdx.x % 32;
    const uint32_t* from[2];
    bool present[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int f = flat + lane / 4 + 8 * h;
      present[h] = f < job.row_count * job.head_count;
      const int at = present[h] ? f : 0;
      const int64_t row = job.row_begin + at / job.head_count;
      from[h] =
          reinterpret_cast<const uint32_t*>(
              job.queries + (row * a.score.heads + job.head_begin + at % job.head_count) * D) +
          lane % 4;
    }
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        q[k][i] = present[i % 2] ? __ldg(from[i % 2] + 8 * k + 4 * (i / 2)) : 0;
      }
    }
  }

  /// 16 keys in shared memory, the first of them number `first`, as far as `count`.
  __device__ __forceinline__ void add_keys(uint32_t keys, int32_t first, int32_t count,
                                           bool of_tiles) {
    const int lane = threadIdx.x % 32;
    float c[2][4] = {};
    const uint32_t key = keys + (lane % 8 + 8 * (lane / 16)) * kPitch<D> + lane / 8 % 2 * 16;
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      uint32_t b[4];
      load_matrices(b, key + 32 * k);
      multiply(c[0], q[k], b[0], b[1]);
      multiply(c[1], q[k], b[2], b[3]);
    }
#pragma unroll
    for (int g = 0; g < 2; ++g) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const ScoredKey x = {c[g][i], first + 8 * g + 2 * (lane % 4) + i % 2};
        if (x.key >= count) continue;
        if (of_tiles) {
          if (x.score > of_tile[i / 2].score) of_tile[i / 2] = x;
        } else {
          best[i / 2].offer_next(x);
        }
      }
    }
  }

  /// A tile of TopRule::kTile is over: its best key becomes a candidate, of all four lanes alike.
  __device__ __forceinline__ void end_tile() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      best[h].offer_next(best_of_lanes<4>(of_tile[h]));
      of_tile[h] = kNoKeyYet;
    }
  }

  __device__ __forceinline__ void write(const TopArgs& a, const ScoreJob& job, int flat, int list,
                                        int lists) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int f = flat + lane / 4 + 8 * h;
      const bool writes = lane % 4 == 0 && f < job.row_count * job.head_count;
#pragma unroll
      for (int i = 0; i < K; ++i) {
        // Lanes have the same lists of tiles' best keys: equal keys leave all of them.
        const ScoredKey x = best[h].template pop<4>();
        if (writes && i < a.k) part_of_row(a, job, f, list, lists)[i] = x;
      }
    }
  }
};

/// Keys [first, first + N) to shared memory by `threads` threads.
template <int D, int N, int threads>
__device__ __forceinline__ void bring_keys(const ScoreJob& job, int32_t first, uint32_t to,
                                           int thread) {
  constexpr int kChunks = D / 8;
  const PageType type = job.keys.key_type;
  const int bytes = stored_bytes(type, D);
#pragma unroll 4
  for (int c = thread; c < N * kChunks; c += threads) {
    const int n = c / kChunks, chunk = c % kChunks;
    const bool present = first + n < job.keys.count;
    const std::byte* row = key_row(job.keys, job.page_shift, bytes, present ? first + n : 0);
    copy_eight(to + static_cast<uint32_t>(n * kPitch<D> + chunk * 16), row, type, chunk, present);
  }
}

template <int D>
struct ManyShared {
  uint4 keys[2][kManyStep * kPitch<D> / 16];
  ScoreJob job;
  int32_t index, list, part, tile;
};

/// 128 flat rows against a part of the keys, which all warps read.
template <int D, int K>
__global__ void __launch_bounds__(kScoreThreads, D <= 128 ? 2 : 1)
    top_keys_many(const __grid_constant__ TopArgs a) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<ManyShared<D>*>(memory);
  find_job(a.score, shared);
  const ScoreJob& job = shared.job;
  constexpr int kPerTile = kTopTile / kManyStep;
  const int thread = static_cast<int>(threadIdx.x);
  const int flat = shared.tile * kManyFlatRows + thread / 32 * 16;
  RowsAndBest<D, K> rows;
  rows.load(a, job, flat);
  const TileStretch tiles = tiles_of(job, shared.part);
  const int begin = tiles.begin * kPerTile, end = tiles.end * kPerTile;
  if (begin < end) {
    bring_keys<D, kManyStep, kScoreThreads>(job, begin * kManyStep, shared_address(shared.keys[0]),
                                            thread);
  }
  commit_copies();
  for (int i = begin; i < end; ++i) {
    const int stage = (i - begin) % 2;
    wait_copies<0>();
    __syncthreads();  // step i is there, and nobody reads the one before it any more
    if (i + 1 < end) {
      bring_keys<D, kManyStep, kScoreThreads>(job, (i + 1) * kManyStep,
                                              shared_address(shared.keys[stage ^ 1]), thread);
    }
    commit_copies();
    const uint32_t keys = shared_address(shared.keys[stage]);
#pragma unroll 1
    for (int n = 0; n < kManyStep; n += 16) {
      rows.add_keys(keys + n * kPitch<D>, i * kManyStep + n, job.keys.count, a.of_tiles);
    }
    if (a.of_tiles && (i + 1) % kPerTile == 0) rows.end_tile();
  }
  rows.write(a, job, flat, shared.part, job.parts);
}

/// Where a tile's keys lie: of keys lane, lane + 32, ... of it. Looked up at once, since each
/// look-up takes as long as the keys themselves.
struct TileRows {
  const std::byte* own[kTopTile / 32];

  __device__ __forceinline__ void look_up(const ScoreJob& job, int32_t first, int row_bytes) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kTopTile / 32; ++i) {
      const int32_t key = first + 32 * i + lane;
      own[i] = key_row(job.keys, job.page_shift, row_bytes, key < job.keys.count ? key : first);
    }
  }
  /// Key n of step `step` of the tile; all lanes ask.
  __device__ __forceinline__ const std::byte* row(int step, int n) const {
    const std::byte* of_step = own[0];
#pragma unroll
    for (int i = 1; i < kTopTile / 32; ++i) of_step = step * kFewStep / 32 == i ? own[i] : of_step;
    const auto address = reinterpret_cast<unsigned long long>(of_step);
    return reinterpret_cast<const std::byte*>(__shfl_sync(~0u, address, step * kFewStep % 32 + n));
  }
};

/// The keys of a step to shared memory, by a warp.
template <int D>
__device__ __forceinline__ void bring_step(const ScoreJob& job, const TileRows& rows, int step,
                                           int32_t first, uint32_t to) {
  constexpr int kChunks = D / 8, kOwn = kFewStep * kChunks / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const PageType type = job.keys.key_type;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int n = (lane + 32 * i) / kChunks, chunk = (lane + 32 * i) % kChunks;
    copy_eight(to + static_cast<uint32_t>(n * kPitch<D> + chunk * 16), rows.row(step, n), type,
               chunk, first + n < job.keys.count);
  }
}

template <int D>
struct FewShared {
  uint4 keys[kFewWarps][kFewSteps][kFewStep * kPitch<D> / 16];
  ScoreJob job;
  int32_t index, list, part, tile;
};

/// 16 flat rows against a part of the keys, of which each warp reads tiles of its own.
template <int D, int K>
__global__ void __launch_bounds__(32 * kFewWarps, 2)
    top_keys_few(const __grid_constant__ TopArgs a) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<FewShared<D>*>(memory);
  find_job(a.score, shared);
  const ScoreJob& job = shared.job;
  constexpr int kPerTile = kTopTile / kFewStep;
  const int warp = threadIdx.x / 32;
  const int flat = shared.tile * kFewFlatRows;
  RowsAndBest<D, K> rows;
  rows.load(a, job, flat);
  TileStretch tiles = tiles_of(job, shared.part);
  tiles.begin += warp;
  const int steps = tiles.begin < tiles.end
                        ? (tiles.end - tiles.begin + kFewWarps - 1) / kFewWarps * kPerTile
                        : 0;
  // Step i of this warp is part i % 8 of its tile i / 8.
  const auto first_of = [&](int i) {
    return (tiles.begin + i / kPerTile * kFewWarps) * kTopTile + i % kPerTile * kFewStep;
  };
  TileRows tile_rows;
  const int row_bytes = stored_bytes(job.keys.key_type, D);
  const auto bring = [&](int i) {
    if (i % kPerTile == 0) tile_rows.look_up(job, first_of(i), row_bytes);
    bring_step<D>(job, tile_rows, i % kPerTile, first_of(i),
                  shared_address(shared.keys[warp][i % kFewSteps]));
  };
#pragma unroll 1
  for (int i = 0; i < kFewSteps - 1; ++i) {
    if (i < steps) bring(i);
    commit_copies();
  }
  for (int i = 0; i < steps; ++i) {
    wait_copies<kFewSteps - 2>();
    __syncwarp();  // step i is there, and no lane reads the one before it any more
    if (i + kFewSteps - 1 < steps) bring(i + kFewSteps - 1);
    commit_copies();
    rows.add_keys(shared_address(shared.keys[warp][i % kFewSteps]), first_of(i), job.keys.count,
                  a.of_tiles);
    if (a.of_tiles && (i + 1) % kPerTile == 0) rows.end_tile();
  }
  wait_copies<0>();
  rows.write(a, job, flat, shared.part * kFewWarps + warp, job.parts * kFewWarps);
}

/// The best of a row's parts: a warp for every flat row.
template <int K>
__global__ void __launch_bounds__(128) merge_lists(const __grid_constant__ TopArgs a) {
  await_turn();
  const ScoreJob& job = a.score.jobs()[blockIdx.y];
  const int f = static_cast<int>(blockIdx.x * 4 + threadIdx.x / 32);
  const int lane = threadIdx.x % 32;
  if (f >= job.row_count * job.head_count) return;
  const int lists = static_cast<int>(job.stride);
  const ScoredKey* from = part_of_row(a, job, f, 0, lists);
  BestList<K> best;
  for (int i = lane; i < lists * a.k; i += 32) best.offer(from[i]);
  const int64_t row = job.row_begin + f / job.head_count;
  const int64_t at = (row * a.score.heads + job.head_begin + f % job.head_count) * a.k;
#pragma unroll
  for (int i = 0; i < K; ++i) {
    const ScoredKey x = best.template pop<32>();
    if (lane != 0 || i >= a.k) continue;
    a.keys[at + i] = x.key;
    if (a.scores != nullptr) a.scores[at + i] = x.score;
  }
}

template <class Kernel>
void launch(Stream stream, Kernel kernel, const TopArgs& args, int blocks, int threads,
            size_t bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "shared memory of top_keys");
  launch_early(stream, "top_keys", kernel, static_cast<unsigned>(blocks),
               static_cast<unsigned>(threads), bytes, args);
}

/// Flat rows that share what a block reads.
enum class TopKernel : uint8_t { kFew, kMany, kSm90 };
int rows_of_block(TopKernel kernel) {
  return kernel == TopKernel::kFew    ? kFewFlatRows
         : kernel == TopKernel::kMany ? kManyFlatRows
                                      : kTopSm90Rows;
}

template <int K>
void launch_mma(Stream stream, const TopArgs& args, int blocks, int head_dim, bool few) {
  with_head_dim(head_dim, [&](auto dim) {
    constexpr int D = dim();
    static_assert(sizeof(ManyShared<D>) <= 99 * 1024 && sizeof(FewShared<D>) <= 163 * 1024);
    if (few) {
      launch(stream, top_keys_few<D, K>, args, blocks, 32 * kFewWarps, sizeof(FewShared<D>));
    } else {
      launch(stream, top_keys_many<D, K>, args, blocks, kScoreThreads, sizeof(ManyShared<D>));
    }
  });
}

template <int K>
void merge(Stream stream, const TopArgs& args, int64_t most_rows, int64_t jobs) {
  const dim3 grid(static_cast<unsigned>((most_rows + 3) / 4), static_cast<unsigned>(jobs));
  launch_early(stream, "merge_lists", merge_lists<K>, grid, 128, 0, args);
}

/// In how many parts keys are cut for `blocks` blocks of rows: so many that rounds of blocks, as
/// many as the device runs at once, leave little of it idle.
int64_t parts_for(int64_t blocks, int64_t processors) {
  int64_t best = 1;
  double best_share = 0;
  for (int64_t parts = 1; parts <= 16; ++parts) {
    const int64_t rounds = (blocks * parts + processors - 1) / processors;
    // Every part fills lists of its own: a hundredth of the time for each more.
    const double share =
        static_cast<double>(blocks * parts) / static_cast<double>(rounds * processors) -
        0.01 * static_cast<double>(parts);
    if (share > best_share) best = parts, best_share = share;
  }
  return best;
}

/// Parts of the keys for all jobs, which have their row blocks; the numbers of scratch for them.
int64_t cut_keys(std::vector<ScoreJob>& jobs, const TopKeysCall& call, TopKernel kernel,
                 int64_t processors) {
  int64_t blocks = 0, numbers = 0;
  for (const ScoreJob& job : jobs) blocks += job.tiles;
  const bool few = kernel == TopKernel::kFew;
  const int64_t least_tiles = few ? kFewWarps : 4;
  const int64_t wanted = kernel == TopKernel::kSm90
                             ? parts_for(blocks, processors)
                             : std::max<int64_t>(1, (few ? 4 : 2) * processors / blocks);
  for (ScoreJob& job : jobs) {
    const int64_t tiles = (int64_t{job.keys.count} + kTopTile - 1) / kTopTile;
    job.parts =
        static_cast<int32_t>(std::clamp<int64_t>(std::min(wanted, tiles / least_tiles), 1, 256));
    job.stride = int64_t{job.parts} * (few ? kFewWarps : 1);  // lists of a row
    job.partial = numbers;
    numbers += 2 * int64_t{job.row_count} * job.head_count * job.stride * call.k;
  }
  return numbers;
}

int64_t flat_rows_of(const TopKeysTask& task) { return int64_t{task.row_count} * task.head_count; }

/// The rows of the boxes by which the copy engine reads these keys; 0 where it does not. Tiles are
/// counted from the first key on, and swizzled rows come in eights.
int box_rows_of(const TopKeysCall& call, std::span<const TopKeysTask> tasks,
                const PageRange& pages) {
  if (call.rule != TopRule::kTile || call.head_dim > 128) return 0;
  int64_t rows = kPageRows;
  for (const TopKeysTask& task : tasks) {
    if (flat_rows_of(task) == 0) continue;
    const PagedRows& keys = task.keys;
    if (keys.type != DType::BF16 || keys.page_rows != kPageRows || keys.pages == nullptr) return 0;
    while (task.begin % rows != 0) rows /= 2;
    if (task.count > 0 &&
        !std::all_of(keys.pages + task.begin / kPageRows,
                     keys.pages + (task.begin + task.count - 1) / kPageRows + 1,
                     [&](auto* page) { return pages.holds(page, call.head_dim); }))
      return 0;
  }
  return rows < 8 ? 0 : static_cast<int>(rows);
}

/// Tasks with rows, those with most keys first.
std::vector<const TopKeysTask*> longest_first(std::span<const TopKeysTask> tasks) {
  std::vector<const TopKeysTask*> order;
  for (const TopKeysTask& task : tasks) {
    if (flat_rows_of(task) > 0) order.push_back(&task);
  }
  std::ranges::stable_sort(order, [](auto* a, auto* b) { return a->count > b->count; });
  return order;
}

/// False for what the kernels do not take.
bool add_job(const AttendCall& rows, const TopKeysTask& task, int block_rows, ScoreJobs& jobs) {
  if (flat_rows_of(task) > (1 << 30) || task.keys.head_dim != rows.head_dim) return false;
  KeySegment s;
  s.rows = task.keys;
  s.begin = task.begin;
  s.count = task.count;
  s.visible = Visibility::kAll;
  AttendTask of;
  of.head_begin = task.head_begin;
  of.head_count = task.head_count;
  of.row_begin = task.row_begin;
  of.row_count = task.row_count;
  ScoreJob* const job = jobs.add(rows, of, s);
  if (job == nullptr) return false;
  job->tiles = static_cast<int32_t>((flat_rows_of(task) + block_rows - 1) / block_rows);
  return true;
}

}  // namespace

bool top_keys(Stream stream, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
              const PageRange& pages, ScoreScratch& scratch) {
  if (!has_score_tile(call.head_dim) || call.k < 1 || call.k > kMostTopKeys) return false;
  if (call.keys.place().host()) return false;
  AttendCall rows;
  rows.queries = {&call.queries, 1};
  rows.heads = call.heads;
  rows.head_dim = call.head_dim;
  int64_t most_rows = 0;
  for (const TopKeysTask& task : tasks) most_rows = std::max(most_rows, flat_rows_of(task));
  TopKernel kernel = most_rows <= 2 * kFewFlatRows ? TopKernel::kFew : TopKernel::kMany;
  const int box_rows = box_rows_of(call, tasks, pages);
  if (kernel == TopKernel::kMany && box_rows > 0) kernel = TopKernel::kSm90;
  thread_local ScoreJobs jobs;
  jobs.clear();
  for (const TopKeysTask* task : longest_first(tasks)) {
    if (!add_job(rows, *task, rows_of_block(kernel), jobs)) return false;
  }
  if (jobs.all().empty()) return true;
  const int64_t numbers = cut_keys(jobs.all(), call, kernel, scratch.processors());
  const TopArgs args{prepare(stream, rows, jobs, QueryRowForm::kBF16, numbers, scratch), call.k,
                     call.rule == TopRule::kTile, call.keys.address(), call.scores.address()};
  const bool small = call.k <= 4;
  if (kernel == TopKernel::kSm90) {
    launch_top_keys_sm90(stream, args, page_map(pages, call.head_dim, box_rows), box_rows,
                         jobs.blocks(), call.head_dim);
  } else {
    const auto launch_it = small ? launch_mma<4> : launch_mma<kMostTopKeys>;
    launch_it(stream, args, jobs.blocks(), call.head_dim, kernel == TopKernel::kFew);
  }
  (small ? merge<4> : merge<kMostTopKeys>)(stream, args, most_rows, std::ssize(jobs.all()));
  return true;
}

}  // namespace longhaul::cuda
