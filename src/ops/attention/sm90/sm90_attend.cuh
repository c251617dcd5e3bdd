#pragma once
// Attention of 128 (row, head) rows on Hopper over tiles of bf16 pages. The copy engine fills
// shared memory, from which wgmma reads. Heads of 80, 96 and 112 elements are treated as 128
// elements with zero columns. One warpgroup loads. Two warpgroups compute 64 (row, head) rows each.
// They take turns, so that the softmax of one overlaps with the products of the other. The products
// of the next tile's keys start before those of this tile's values. With heads of 256 elements,
// shared memory suffices only for tiles of one page (64 keys). The warpgroups then do not take
// turns, because products take twice as long while the softmax takes as long as with smaller heads.
//
// `Seen<D>` defines the tiles and their visibility. Each computing warpgroup constructs one:
//
//   Note                       the loading thread's notes on a tile: `queries`, the array that
//                              multiplies its keys (null: there is no tile), `last`, and the data
//                              of the functions below
//   static NextTile next(...)  the next tile of a walk
//   Own own(note)              the part of a note that a warpgroup keeps
//   mask(scores, own, flat)    sets the logits of keys that a row does not see to -infinity
//   Values values(own)         the data that clear() needs of the previous tile
//   clear(address, values)     zeroes values without a visible key: they may be NaN in memory, and
//                              0 times NaN is NaN

#include "ops/attention/sm90/sm90_rows.cuh"
#include "ops/core/gpu/early_launch.cuh"

namespace longhaul::cuda {

/// The next tile to be loaded.
template <class Note, int kPages>
struct NextTile {
  bool there;        ///< false if there is no further tile
  int page[kPages];  ///< page numbers in the tensor map
  Note note;
};

__device__ __forceinline__ int page_number(const PageMap& pages, const std::byte* at) {
  return static_cast<int>(static_cast<uint32_t>((at - pages.base) >> 8) / pages.page_units);
}

/// Loads the tiles; it runs on the loading thread. Pages are looked up two tiles ahead while values
/// are still in use, because each look-up takes as long as half of a tile's products.
template <int D, class Seen>
__device__ __forceinline__ void load_pages(const AttendArgs& a, const PageMap& pages,
                                           const UnitRecord& unit,
                                           Sm90Shared<D, typename Seen::Note>& shared) {
  using F = Sm90Form<D>;
  using Tile = NextTile<typename Seen::Note, F::kPages>;
  TileWalk walk(a.segments, unit, F::kKeys);
  Tile tile = Seen::next(walk, unit, pages), next = Seen::next(walk, unit, pages);
  if (!tile.there) {
    shared.notes[0] = {};
    barrier_arrive(shared_address(&shared.keys_full[0]));
  }
  for (int i = 0; tile.there; ++i) {
    const int stage = i % F::kStages;
    const uint32_t before = (i / F::kStages & 1) ^ 1;
    tile.note.last = !next.there;
    barrier_wait(shared_address(&shared.keys_empty[stage]), before);
    shared.notes[stage] = tile.note;  // visible once keys_full is complete
    copy_pages<D>(shared.keys[stage], &shared.keys_full[stage], pages, 0, tile.page);
    const Tile after = Seen::next(walk, unit, pages);
    barrier_wait(shared_address(&shared.values_empty[stage]), before);
    copy_pages<D>(shared.values[stage], &shared.values_full[stage], pages, kPageRows, tile.page);
    tile = next;
    next = after;
  }
}

template <int D, class Seen>
__device__ __forceinline__ void compute(const AttendArgs& a, const UnitRecord& unit,
                                        Sm90Shared<D, typename Seen::Note>& shared, int group) {
  using F = Sm90Form<D>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const int flat = 64 * group + 16 * warp + lane / 4;
  const Seen seen(unit, group);
  const uint32_t all_queries = shared_address(shared.queries),
                 queries = all_queries + 64 * group * 128;
  const float* loaded = nullptr;
  Rows64<D> rows;
#pragma unroll
  for (int i = 0; i < D / 2; ++i) rows.o[i] = 0;
  // Queries are loaded while the first keys are in flight. A unit usually uses only one query
  // array.
  if (unit.segment_count > 0) {
    loaded = a.segments[unit.first_segment].queries;
    store_queries<D, 8>(a, loaded, unit, group, all_queries);
    if constexpr (F::kQueriesHere) rows.load_queries(queries);
  }
  typename Seen::Own note;  // note of the tile whose keys are multiplied
  const auto begin_keys = [&](int n) {
    const int stage = n % F::kStages;
    barrier_wait(shared_address(&shared.keys_full[stage]), n / F::kStages & 1);
    note = seen.own(shared.notes[stage]);
    if (note.queries == nullptr || note.queries == loaded) return;
    loaded = note.queries;
    store_queries<D, 2>(a, loaded, unit, group, all_queries);
    if constexpr (F::kQueriesHere) rows.load_queries(queries);
  };
  const auto weigh = [&] {
    bend_logits(rows.s, a.logits.bend);
    seen.mask(rows.s, note, flat);
    rows.soften(a.logits.scale);
  };
  const auto multiply_values = [&](int n, const typename Seen::Values& of) {
    const int stage = n % F::kStages;
    const uint32_t values = shared_address(shared.values[stage]);
    barrier_wait(shared_address(&shared.values_full[stage]), n / F::kStages & 1);
    seen.clear(values, of);
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
      const typename Seen::Values values = seen.values(note);  // values of the previous tile
      begin_keys(n);
      if constexpr (F::kTurns) named_sync<256>(1 + group);
      rows.multiply_keys(queries, shared_address(shared.keys[stage]));
      multiply_values(n - 1, values);
      if constexpr (F::kTurns) named_arrive<256>(2 - group);
      wgmma_wait<1>();
      if (lane == 0) barrier_arrive(shared_address(&shared.keys_empty[stage]));
      weigh();
      wgmma_wait<0>();
      if (lane == 0) barrier_arrive(shared_address(&shared.values_empty[before]));
      rows.shrink_sums();
      rows.pack();
    }
    multiply_values(n - 1, seen.values(note));
    wgmma_wait<0>();
  }
  write_rows(a, unit, flat, rows);
}

template <int D, class Seen>
__global__ void __launch_bounds__(kSm90Threads, 1)
    attend_sm90(const __grid_constant__ AttendArgs a, const __grid_constant__ PageMap pages,
                const UnitRecord* units) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Shared = Sm90Shared<D, typename Seen::Note>;
  extern __shared__ uint8_t memory[];
  auto& shared =
      *reinterpret_cast<Shared*>((reinterpret_cast<uintptr_t>(memory) + 1023) / 1024 * 1024);
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) shared.make_barriers();
  await_turn();
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if (threadIdx.x == 0) load_pages<D, Seen>(a, pages, units[blockIdx.x], shared);
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
  compute<D, Seen>(a, units[blockIdx.x], shared, group - 1);
#endif
}

template <int D, class Seen>
void launch_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                 const UnitRecord* units, int count) {
  constexpr int kBytes = sizeof(Sm90Shared<D, typename Seen::Note>) + 1024;
  static_assert(kBytes <= 227 * 1024);
  const auto kernel = attend_sm90<D, Seen>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of attend_sm90");
  launch_early(stream, "attend_sm90", kernel, static_cast<unsigned>(count), kSm90Threads, kBytes,
               args, pages, units);
}

}  // namespace longhaul::cuda
