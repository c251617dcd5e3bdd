#include <algorithm>
#include <optional>
#include <vector>

#include "ops/attention/page_map.gpu.h"
#include "ops/maps/maps.gpu.h"
#include "ops/maps/top_keys_decode.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kManyFlatRows = 128;
constexpr int kManyStep = 64;  ///< keys in shared memory, twice

/// Loads keys [first, first + kManyStep) to shared memory. All threads call it.
template <int D>
__device__ __forceinline__ void bring_keys(const ScoreJob& job, int32_t first, uint32_t to,
                                           int thread) {
  constexpr int kChunks = D / 8;
  const PageType type = job.keys.key_type;
  const int bytes = stored_bytes(type, D);
#pragma unroll 4
  for (int c = thread; c < kManyStep * kChunks; c += kScoreThreads) {
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

/// 128 flat rows against a part of the keys. All warps read the same keys.
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
    bring_keys<D>(job, begin * kManyStep, shared_address(shared.keys[0]), thread);
  }
  commit_copies();
  for (int i = begin; i < end; ++i) {
    const int stage = (i - begin) % 2;
    wait_copies<0>();
    __syncthreads();  // barrier: step i has arrived, and no warp reads the previous one any more
    if (i + 1 < end) {
      bring_keys<D>(job, (i + 1) * kManyStep, shared_address(shared.keys[stage ^ 1]), thread);
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

/// Merges the best keys of a row's parts. One warp per flat row.
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

enum class TopKernel : uint8_t { kDecode, kStored, kMany, kSm90 };

/// The kernel that reads the keys of a call, and its parameters.
struct Reader {
  TopKernel kernel;
  std::optional<StoredFit> fit;  ///< for kStored
  int box_rows = 0;              ///< for kSm90

  /// Flat rows that share a thread block's loads.
  int block_rows() const {
    switch (kernel) {
      case TopKernel::kDecode:
        return kDecodeFlatRows;
      case TopKernel::kStored:
        return fit->flat_rows;
      case TopKernel::kMany:
        return kManyFlatRows;
      default:
        return kTopSm90Rows;
    }
  }
  /// Concurrent thread blocks per processor, for kernels of which several fit.
  int at_once() const { return kernel == TopKernel::kDecode ? 3 : fit ? fit->blocks : 2; }
  /// Least number of tiles per part: one for every warp that reads its own tiles.
  int least_tiles() const {
    return kernel == TopKernel::kDecode ? kDecodeWarps : fit ? fit->warps : 4;
  }
  /// Lists per row that a thread block writes.
  int lists() const { return kernel == TopKernel::kDecode ? kDecodeWarps : 1; }
};

template <int K>
void launch_mma(Stream stream, const TopArgs& args, int blocks, int head_dim, bool decode) {
  with_head_dim(head_dim, [&](auto dim) {
    constexpr int D = dim();
    static_assert(sizeof(ManyShared<D>) <= 99 * 1024 && sizeof(DecodeShared<D>) <= 99 * 1024);
    if (decode) {
      launch(stream, top_keys_decode<D, K>, args, blocks, 32 * kDecodeWarps,
             sizeof(DecodeShared<D>));
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

/// Every part of the keys fills its own lists, which costs a hundredth of the time per part.
constexpr PartCost kMoreLists{.each = 0.01};

/// Divides the keys of all jobs into parts. The jobs have their row blocks. Returns the floats of
/// scratch.
int64_t cut_keys(std::vector<ScoreJob>& jobs, const TopKeysCall& call, const Reader& reader,
                 int64_t processors) {
  int64_t blocks = 0, numbers = 0;
  for (const ScoreJob& job : jobs) blocks += job.tiles;
  const int64_t wanted = reader.kernel == TopKernel::kSm90
                             ? parts_that_fill(blocks, processors, 16, kMoreLists)
                             : std::max<int64_t>(1, reader.at_once() * processors / blocks);
  for (ScoreJob& job : jobs) {
    const int64_t tiles = (int64_t{job.keys.count} + kTopTile - 1) / kTopTile;
    job.parts = static_cast<int32_t>(
        std::clamp<int64_t>(std::min(wanted, tiles / reader.least_tiles()), 1, 256));
    job.stride = int64_t{job.parts} * reader.lists();  // lists per row
    job.partial = numbers;
    numbers += 2 * int64_t{job.row_count} * job.head_count * job.stride * call.k;
  }
  return numbers;
}

int64_t flat_rows_of(const TopKeysTask& task) { return int64_t{task.row_count} * task.head_count; }

/// Rows of the boxes with which the tensor memory accelerator (TMA) of Hopper GPUs can read these
/// keys; 0 if it cannot. Tiles count from the first key, and swizzled rows come in groups of eight.
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

/// Selects the kernel for few rows. bf16 keys are read directly. Others use the kernel for stored
/// keys if it supports their pages. Block-type keys are multiplied as stored if their rows begin at
/// words (block_products.cuh).
Reader reader_of_decode(const TopKeysCall& call, std::span<const TopKeysTask> tasks,
                        int64_t most_rows, const ScoreScratch& scratch) {
  bool bf16 = true, blocks = call.head_dim % 64 == 0 && most_rows <= kBlockFlatRows, mixed = false;
  size_t key_bytes = 0;
  for (const TopKeysTask& task : tasks) {
    if (flat_rows_of(task) == 0) continue;
    const DType type = task.keys.type.k;
    bf16 = bf16 && type == DType::BF16;
    blocks = blocks && (type == DType::Q8_0 || type == DType::Q4_0);
    mixed = mixed || type == kHadamardKeys;
    key_bytes = std::max(key_bytes, task.keys.key_bytes());
  }
  if (bf16) return {TopKernel::kDecode, {}};
  const bool pages = std::ranges::all_of(tasks, [](const TopKeysTask& task) {
    return task.keys.page_rows == kPageRows || flat_rows_of(task) == 0;
  });
  if (!pages) return {TopKernel::kMany, {}};
  return {TopKernel::kStored,
          StoredFit(call.head_dim, blocks ? kBlockFlatRows : kExpandedFlatRows, call.k, mixed,
                    static_cast<int>(key_bytes), scratch.shared_per_processor())};
}

Reader reader_of(const TopKeysCall& call, std::span<const TopKeysTask> tasks, int64_t most_rows,
                 const PageRange& pages, const ScoreScratch& scratch) {
  if (most_rows <= 2 * kDecodeFlatRows) return reader_of_decode(call, tasks, most_rows, scratch);
  const int box_rows = box_rows_of(call, tasks, pages);
  return {box_rows > 0 ? TopKernel::kSm90 : TopKernel::kMany, {}, box_rows};
}

/// Tasks with rows; those with the most keys come first.
std::vector<const TopKeysTask*> longest_first(std::span<const TopKeysTask> tasks) {
  std::vector<const TopKeysTask*> order;
  for (const TopKeysTask& task : tasks) {
    if (flat_rows_of(task) > 0) order.push_back(&task);
  }
  std::ranges::stable_sort(order, [](auto* a, auto* b) { return a->count > b->count; });
  return order;
}

/// Returns false if the kernels do not support the task.
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
  const Reader reader = reader_of(call, tasks, most_rows, pages, scratch);
  thread_local ScoreJobs jobs;
  jobs.clear();
  for (const TopKeysTask* task : longest_first(tasks)) {
    if (!add_job(rows, *task, reader.block_rows(), jobs)) return false;
  }
  if (jobs.all().empty()) return true;
  const int64_t numbers = cut_keys(jobs.all(), call, reader, scratch.processors());
  // The kernel itself rounds or Hadamard-rotates them.
  const bool as_given = reader.block_rows() == kBlockFlatRows;
  const QueryRowForm form = as_given ? QueryRowForm::kAsGiven : QueryRowForm::kBF16;
  const TopArgs args{prepare(stream, rows, jobs, form, numbers, scratch), call.k,
                     call.rule == TopRule::kTile, call.keys.address(), call.scores.address()};
  const bool small = call.k <= 4;
  if (reader.kernel == TopKernel::kSm90) {
    launch_top_keys_sm90(stream, args, page_map(pages, call.head_dim, reader.box_rows),
                         reader.box_rows, jobs.blocks(), call.head_dim);
  } else if (reader.kernel == TopKernel::kStored) {
    launch_top_keys_stored(stream, args, *reader.fit, jobs.blocks(), call.head_dim);
  } else {
    const auto launch_it = small ? launch_mma<4> : launch_mma<kMostTopKeys>;
    launch_it(stream, args, jobs.blocks(), call.head_dim, reader.kernel == TopKernel::kDecode);
  }
  (small ? merge<4> : merge<kMostTopKeys>)(stream, args, most_rows, std::ssize(jobs.all()));
  return true;
}

}  // namespace longhaul::cuda
