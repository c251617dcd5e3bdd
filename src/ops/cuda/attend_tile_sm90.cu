// Attention of many rows on Hopper, for stretches of bf16 pages: wgmma from shared memory that the
// copy engine fills. Heads of 80, 96 and 112 elements run as 128 with columns of zeros. One
// warpgroup loads; two compute 64 flat rows each and take turns, so that the softmax of one hides
// behind the products of the other. The next tile's products with the keys are begun before this
// tile's with the values. Heads of 256 elements leave room for tiles of one page of 64 keys;
// their warpgroups take no turns, since products take twice as long beside the same softmax.

#include "ops/cuda/device_error.h"
#include "ops/cuda/sm90_rows.cuh"

namespace longhaul::cuda {
namespace {

/// A tile that is to be loaded.
template <int kPages>
struct NextTile {
  bool there;
  int page[kPages];  ///< of the map
  TileNote note;
};

template <int kPages>
__device__ __forceinline__ NextTile<kPages> next_tile(TileWalk& walk, const UnitRecord& unit,
                                                      const PageMap& pages) {
  NextTile<kPages> next{};
  if (!walk.next()) return next;
  const SegmentRecord& s = walk.segment();
  const int last = (s.shift + s.count - 1) / kPageRows;
#pragma unroll
  for (int p = 0; p < kPages; ++p) {
    const std::byte* at = page_of(s, min(kPages * walk.tile() + p, last));
    next.page[p] =
        static_cast<int>(static_cast<uint32_t>((at - pages.base) >> 8) / pages.page_units);
  }
  const int32_t begin = s.shift - walk.tile() * kPages * kPageRows;
  next.there = true;
  next.note = {s.queries,
               begin,
               begin + s.count,
               static_cast<int32_t>(s.position - begin - unit.row_position),
               s.nearest,
               s.furthest,
               0};
  return next;
}

/// The thread that loads. It looks up pages two tiles ahead, while it would wait for values to be
/// used: each look-up takes as long as half of a tile's products.
template <int D>
__device__ __forceinline__ void load_pages(const AttendArgs& a, const PageMap& pages,
                                           const UnitRecord& unit,
                                           Sm90Shared<D, TileNote>& shared) {
  using F = Sm90Form<D>;
  using Tile = NextTile<F::kPages>;
  TileWalk walk(a.segments, unit, F::kKeys);
  const auto following = [&] { return next_tile<F::kPages>(walk, unit, pages); };
  Tile tile = following(), next = following();
  if (!tile.there) {
    shared.notes[0] = {};
    barrier_arrive(shared_address(&shared.keys_full[0]));
  }
  for (int i = 0; tile.there; ++i) {
    const int stage = i % F::kStages;
    const uint32_t before = (i / F::kStages & 1) ^ 1;
    tile.note.last = !next.there;
    barrier_wait(shared_address(&shared.keys_empty[stage]), before);
    shared.notes[stage] = tile.note;  // there when keys_full is
    copy_pages<D>(shared.keys[stage], &shared.keys_full[stage], pages, 0, tile.page);
    const Tile after = following();
    barrier_wait(shared_address(&shared.values_empty[stage]), before);
    copy_pages<D>(shared.values[stage], &shared.values_full[stage], pages, kPageRows, tile.page);
    tile = next;
    next = after;
  }
}

template <int D>
__device__ __forceinline__ void compute(const AttendArgs& a, const UnitRecord& unit,
                                        Sm90Shared<D, TileNote>& shared, int group) {
  using F = Sm90Form<D>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const int flat = 64 * group + 16 * warp + lane / 4;
  const int first_row = 64 * group / unit.head_count,
            last_row = (64 * group + 63) / unit.head_count;
  const uint32_t all_queries = shared_address(shared.queries),
                 queries = all_queries + 64 * group * 128;
  const float* loaded = nullptr;
  Rows64<D> rows;
#pragma unroll
  for (int i = 0; i < D / 2; ++i) rows.o[i] = 0;
  if (unit.segment_count > 0) {  // while the first keys are on their way: often the only form
    loaded = a.segments[unit.first_segment].queries;
    store_queries<D, 8>(a, loaded, unit, group, all_queries);
  }
  TileNote note;  // of the tile whose keys are multiplied
  const auto begin_keys = [&](int n) {
    const int stage = n % F::kStages;
    barrier_wait(shared_address(&shared.keys_full[stage]), n / F::kStages & 1);
    note = shared.notes[stage];
    if (note.queries == nullptr || note.queries == loaded) return;
    loaded = note.queries;
    store_queries<D, 2>(a, loaded, unit, group, all_queries);
  };
  const auto weigh = [&] {
    rows.bend(a.logits.bend);
    mask_tile<F::kKeys>(rows.s, note, unit, flat, first_row, last_row);
    rows.soften(a.logits.scale);
  };
  const auto multiply_values = [&](int n, int32_t from, int32_t to) {
    const int stage = n % F::kStages;
    const uint32_t values = shared_address(shared.values[stage]);
    barrier_wait(shared_address(&shared.values_full[stage]), n / F::kStages & 1);
    if (from > 0 || to < F::kKeys) clear_values<D>(values, from, to, group);
    rows.multiply_values(values);
  };
  if (F::kTurns && group == 0) named_arrive<256>(1);
  begin_keys(0);
  if (note.queries != nullptr) {
    rows.multiply_keys(queries, shared_address(shared.keys[0]));
    wgmma_wait<0>();
    if (lane == 0) barrier_arrive(shared_address(&shared.keys_empty[0]));
    weigh();
    rows.pack();
    int n = 1;
    for (; !note.last; ++n) {
      const int stage = n % F::kStages, before = (n - 1) % F::kStages;
      const int32_t from = note.begin, to = note.end;  // of the tile before
      begin_keys(n);
      if constexpr (F::kTurns) named_sync<256>(1 + group);
      rows.multiply_keys(queries, shared_address(shared.keys[stage]));
      multiply_values(n - 1, from, to);
      if constexpr (F::kTurns) named_arrive<256>(2 - group);
      wgmma_wait<1>();
      if (lane == 0) barrier_arrive(shared_address(&shared.keys_empty[stage]));
      weigh();
      wgmma_wait<0>();
      if (lane == 0) barrier_arrive(shared_address(&shared.values_empty[before]));
#pragma unroll
      for (int k = 0; k < D / 2; ++k) rows.o[k] *= rows.shrink[(k >> 1) & 1];
      rows.pack();
    }
    multiply_values(n - 1, note.begin, note.end);
    wgmma_wait<0>();
  }
  write_rows(a, unit, flat, rows);
}

template <int D>
__global__ void __launch_bounds__(kSm90Threads, 1)
    attend_tile_sm90(const __grid_constant__ AttendArgs a, const __grid_constant__ PageMap pages,
                     const UnitRecord* units) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Shared = Sm90Shared<D, TileNote>;
  extern __shared__ uint8_t memory[];
  auto& shared =
      *reinterpret_cast<Shared*>((reinterpret_cast<uintptr_t>(memory) + 1023) / 1024 * 1024);
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) shared.make_barriers();
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if (threadIdx.x == 0) load_pages<D>(a, pages, units[blockIdx.x], shared);
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
  compute<D>(a, units[blockIdx.x], shared, group - 1);
#endif
}

template <int D>
void launch(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
            const UnitRecord* units, int count) {
  constexpr int kBytes = sizeof(Sm90Shared<D, TileNote>) + 1024;
  static_assert(kBytes <= 227 * 1024);
  const auto kernel = attend_tile_sm90<D>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of attend_tile_sm90");
  kernel<<<static_cast<unsigned>(count), kSm90Threads, kBytes, stream>>>(args, pages, units);
  check_launch("attend_tile_sm90");
}

}  // namespace

void launch_attend_tile_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                             const UnitRecord* units, int count, int head_dim) {
  if (head_dim <= 64) return launch<64>(stream, args, pages, units, count);
  if (head_dim <= 128) return launch<128>(stream, args, pages, units, count);
  launch<256>(stream, args, pages, units, count);
}

}  // namespace longhaul::cuda
