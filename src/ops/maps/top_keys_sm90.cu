// Best keys of tiles for prefill rows on Hopper: wgmma with the rows in registers, and keys in
// shared memory that the tensor memory accelerator (TMA) fills. One warp loads. Two warpgroups hold
// two blocks of 64 flat rows each. They search one block's products while the other's are computed.
// A row's list of best keys lies in shared memory, since few tiles have a key for it. A thread
// needs only the list's last score.

#include "ops/core/gpu/hopper.cuh"
#include "ops/core/gpu/reductions.cuh"
#include "ops/maps/top_keys.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 3 * 128;
constexpr int kKeyHalf = kTopTile * 128;      ///< bytes of 64 columns of a tile's keys
constexpr int kRowHalf = kTopSm90Rows * 128;  ///< bytes of 64 columns of the thread block's rows

template <int D>
struct TopSm90Shared {
  static constexpr int kStages = D == 64 ? 8 : 4;
  static constexpr int kTile = D / 64 * kKeyHalf;  ///< bytes
  uint8_t queries[D / 64 * kRowHalf];
  uint8_t keys[kStages][kTile];
  uint64_t full[kStages], empty[kStages];
  ScoredKey best[kTopSm90Rows][kMostTopKeys];
  ScoreJob job;
  int32_t index, list, part, tile;
};

/// Runs on the loading warp. Every lane has a box of each tile and looks up its page a tile ahead.
template <int D>
__device__ __forceinline__ void load_tiles(const PageMap& pages, int box_rows,
                                           const TileStretch& tiles, TopSm90Shared<D>& shared) {
  using Shared = TopSm90Shared<D>;
  const SegmentRecord& s = shared.job.keys;
  const int lane = threadIdx.x % 32;
  const int half = lane % (D / 64), first = lane / (D / 64) * box_rows;
  const int last = (s.shift + s.count - 1) / kPageRows;
  const auto page_of_box = [&](int32_t tile) {
    const int32_t page = min((s.shift + tile * kTopTile + first) / kPageRows, last);
    return static_cast<int>(static_cast<uint32_t>((s.pages[page] - pages.base) >> 8) /
                            pages.page_units);
  };
  const int row = (s.shift + first) % kPageRows;
  const bool loads = first < kTopTile;
  int page = loads ? page_of_box(tiles.begin) : 0;
  for (int32_t tile = tiles.begin; tile < tiles.end; ++tile) {
    const int n = tile - tiles.begin, stage = n % Shared::kStages;
    const int next = loads && tile + 1 < tiles.end ? page_of_box(tile + 1) : 0;
    const uint32_t full = shared_address(&shared.full[stage]);
    barrier_wait(shared_address(&shared.empty[stage]), ((n / Shared::kStages) & 1) ^ 1);
    if (lane == 0) barrier_expect(full, Shared::kTile);
    __syncwarp();
    if (loads) {
      copy_box(shared_address(shared.keys[stage]) + half * kKeyHalf + first * 128, &pages.map,
               64 * half, row, page, full);
    }
    page = next;
  }
}

/// Stores 128 flat rows of the job from `flat` on. The warpgroup that multiplies them calls it.
/// Columns past head_dim and missing rows are zeros.
template <int D>
__device__ __forceinline__ void bring_rows(const ScoreJob& job, int heads, int head_dim, int flat,
                                           int rows_begin, uint32_t to) {
  constexpr int kChunks = D / 8;
  const int flat_rows = job.row_count * job.head_count;
#pragma unroll 4
  for (int i = 0; i < kChunks; ++i) {
    const int c = threadIdx.x % 128 + 128 * i, n = rows_begin + c / kChunks, chunk = c % kChunks;
    const int f = flat + c / kChunks;
    uint4 x = {0, 0, 0, 0};
    if (f < flat_rows && 8 * chunk < head_dim) {
      const int64_t row = job.row_begin + f / job.head_count;
      const int64_t at = (row * heads + job.head_begin + f % job.head_count) * head_dim;
      x = __ldg(reinterpret_cast<const uint4*>(job.queries + at) + chunk);
    }
    store_16(to + chunk / 8 * kRowHalf + n * 128 + ((chunk % 8) ^ (n % 8)) * 16, x);
  }
}

/// The products of 64 flat rows with a tile of keys, and the rows' lists. A lane has rows lane / 4
/// and lane / 4 + 8 of its warp's 16. Four lanes share a row.
template <int D>
struct RowsOfTile {
  float s[64];
  uint32_t q[D / 4];                                    ///< the rows
  float least[2] = {kNoKeyYet.score, kNoKeyYet.score};  ///< last scores of the rows' lists
  ScoredKey* lists;                                     ///< lists of row lane / 4
  int k;

  __device__ __forceinline__ RowsOfTile(ScoredKey* of_warp, int length)
      : lists(of_warp + threadIdx.x % 32 / 4 * kMostTopKeys), k(length) {
    if (threadIdx.x % 4 != 0) return;
    for (int i = 0; i < k; ++i) list(0)[i] = list(1)[i] = kNoKeyYet;
  }

  __device__ __forceinline__ ScoredKey* list(int h) const { return lists + 8 * h * kMostTopKeys; }

  __device__ __forceinline__ void multiply(uint32_t keys) {
    const uint64_t key = matrix_at(keys, 16, 1024);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      wgmma_registers_by_rows(s, q + 4 * k, matrix_behind(key, k / 4 * kKeyHalf + k % 4 * 32),
                              k > 0);
    }
    wgmma_commit();
  }

  /// Masks columns from `count` on, which have no key.
  __device__ __forceinline__ void cut(int32_t count) {
    if (count >= kTopTile) return;
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      if (i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2 >= count) s[i] = -INFINITY;
    }
  }

  /// The lowest column with product `score`. There must be one.
  __device__ __forceinline__ int column_of(float score, int h) const {
    int column = kTopTile;
#pragma unroll
    for (int i = 15; i >= 0; --i) {
      if (s[4 * i + 2 * h + 1] == score) column = 8 * i + 1;
      if (s[4 * i + 2 * h] == score) column = 8 * i;
    }
    column += threadIdx.x % 4 * 2;
    column = min(column, __shfl_xor_sync(~0u, column, 1));
    return min(column, __shfl_xor_sync(~0u, column, 2));
  }

  /// Inserts the tile's best key into each row's list. `first` is the number of the tile's first
  /// key.
  __device__ __forceinline__ void take(int32_t first) {
    float best[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float x = s[2 * h];
#pragma unroll
      for (int i = 0; i < 16; ++i) x = fmaxf(x, fmaxf(s[4 * i + 2 * h], s[4 * i + 2 * h + 1]));
      best[h] = quad_max(x);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const bool better = best[h] > least[h];
      if (!__any_sync(~0u, better)) continue;
      const int column = column_of(best[h], h);
      if (better && threadIdx.x % 4 == 0) least[h] = insert(list(h), {best[h], first + column});
      least[h] = __shfl_sync(~0u, least[h], threadIdx.x % 32 & ~3);
    }
  }

  /// Inserts a key that is better than the list's last. Returns the new last score.
  __device__ __forceinline__ float insert(ScoredKey* list, const ScoredKey& x) const {
    int at = k - 1;
    for (; at > 0 && x.score > list[at - 1].score; --at) list[at] = list[at - 1];
    list[at] = x;
    return list[k - 1].score;
  }

  __device__ __forceinline__ void write(const TopArgs& a, const ScoreJob& job, int flat,
                                        int part) const {
    if (threadIdx.x % 4 != 0) return;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int f = flat + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * h;
      if (f >= job.row_count * job.head_count) continue;
      ScoredKey* const to = part_of_row(a, job, f, part, job.parts);
      for (int i = 0; i < k; ++i) to[i] = list(h)[i];
    }
  }
};

template <int D>
__device__ __forceinline__ void search(const TopArgs& a, int head_dim, const TileStretch& tiles,
                                       TopSm90Shared<D>& shared, int group) {
  using Shared = TopSm90Shared<D>;
  const ScoreJob& job = shared.job;
  const int own = 128 * group, warp = threadIdx.x / 32 % 4, flat = shared.tile * kTopSm90Rows + own;
  const uint32_t all = shared_address(shared.queries), queries = all + own * 128;
  bring_rows<D>(job, a.score.heads, head_dim, flat, own, all);
  publish_to_engines();
  named_sync<128>(1 + group);
  RowsOfTile<D> low(shared.best[own + 16 * warp], a.k);
  RowsOfTile<D> high(shared.best[own + 64 + 16 * warp], a.k);
  load_rows<D>(low.q, queries, kRowHalf);
  load_rows<D>(high.q, queries + 64 * 128, kRowHalf);
  const int count = tiles.end - tiles.begin;
  const auto used = [&](int n) {
    if (threadIdx.x % 32 == 0) barrier_arrive(shared_address(&shared.empty[n % Shared::kStages]));
  };
  const auto multiply = [&](int n) {
    barrier_wait(shared_address(&shared.full[n % Shared::kStages]), (n / Shared::kStages) & 1);
    const uint32_t keys = shared_address(shared.keys[n % Shared::kStages]);
    low.multiply(keys);
    high.multiply(keys);
  };
  for (int n = 0; n + 1 < count; ++n) {
    const int32_t first = (tiles.begin + n) * kTopTile;
    multiply(n);
    wgmma_wait<1>();
    low.take(first);
    wgmma_wait<0>();
    used(n);
    high.take(first);
  }
  if (count > 0) {
    const int32_t first = (tiles.end - 1) * kTopTile;
    multiply(count - 1);
    wgmma_wait<0>();
    low.cut(job.keys.count - first);
    low.take(first);
    high.cut(job.keys.count - first);
    high.take(first);
  }
  low.write(a, job, flat + 16 * warp, shared.part);
  high.write(a, job, flat + 64 + 16 * warp, shared.part);
}

template <int D>
__global__ void __launch_bounds__(kThreads, 1)
    top_keys_sm90(const __grid_constant__ TopArgs a, const __grid_constant__ PageMap pages,
                  int box_rows, int head_dim) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Shared = TopSm90Shared<D>;
  extern __shared__ uint8_t memory[];
  auto& shared =
      *reinterpret_cast<Shared*>((reinterpret_cast<uintptr_t>(memory) + 1023) / 1024 * 1024);
  if (threadIdx.x == 0) {
    for (int s = 0; s < Shared::kStages; ++s) {
      barrier_init(shared_address(&shared.full[s]), 1);
      barrier_init(shared_address(&shared.empty[s]), 8);  // computing warps
    }
    barriers_are_made();
  }
  find_job(a.score, shared);
  const TileStretch tiles = tiles_of(shared.job, shared.part);
  const int group = threadIdx.x / 128;
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if (threadIdx.x < 32 && tiles.begin < tiles.end) {
      load_tiles<D>(pages, box_rows, tiles, shared);
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
  search<D>(a, head_dim, tiles, shared, group - 1);
#endif
}

template <int D>
void launch(Stream stream, const TopArgs& args, const PageMap& pages, int box_rows, int blocks,
            int head_dim) {
  constexpr int kBytes = sizeof(TopSm90Shared<D>) + 1024;
  static_assert(kBytes <= 227 * 1024);
  const auto kernel = top_keys_sm90<D>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of top_keys_sm90");
  kernel<<<static_cast<unsigned>(blocks), kThreads, kBytes, stream>>>(args, pages, box_rows,
                                                                      head_dim);
  check_launch("top_keys_sm90");
}

}  // namespace

void launch_top_keys_sm90(Stream stream, const TopArgs& args, const PageMap& pages, int box_rows,
                          int blocks, int head_dim) {
  const auto launch_it = head_dim <= 64 ? launch<64> : launch<128>;
  launch_it(stream, args, pages, box_rows, blocks, head_dim);
}

}  // namespace longhaul::cuda
