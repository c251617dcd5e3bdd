#pragma once
// Attention of 128 flat rows on Hopper GPUs over bf16 pages. A flat row is the query of one head of
// one query row. Keys and values are processed in tiles of two pages (128 keys). The tensor memory
// accelerator (TMA) copies tiles to shared memory, from which wgmma instructions read them. Heads
// of 80, 96 and 112 elements are treated as 128 elements with zero columns. One warpgroup loads.
// Two warpgroups compute 64 flat rows each. They alternate, so that the softmax of one overlaps
// with the matrix products of the other. A warpgroup starts the products with the next tile's keys
// before the products with this tile's values. With heads of 256 elements, shared memory suffices
// only for tiles of one page. The warpgroups then do not alternate, because the matrix products
// take twice as long per key and the softmax does not.
//
// The template argument `Seen` defines the tiles and which keys are visible. Each computing
// warpgroup constructs one object of this type. It has these members:
//
//   Note                     type of the data about a tile that the loading thread writes to
//                            shared memory for the computing warpgroups. It has at least the
//                            two following fields.
//   Note::queries            the query array for the tile's keys; null: the unit has no tiles
//   Note::last               whether the tile is the last one of the unit
//   static next(walk, ...)   advances a TileWalk and returns the tile as a NextTile
//   Own own(note)            returns the data of a note that a warpgroup keeps in registers
//   mask(scores, own, flat)  sets the logits of keys that a row does not see to -infinity
//   Values values(own)       returns the data about a tile that clear() needs
//   clear(address, values)   sets values that no row of the unit sees to zero. They may be NaN in
//                            memory, and 0 times NaN would be NaN.

#include "ops/attention/sm90/sm90_rows.cuh"
#include "ops/core/gpu/early_launch.cuh"

namespace longhaul::cuda {

/// A tile that the loading thread has looked up.
template <class Note, int kPages>
struct NextTile {
  bool there;        ///< false if there is no further tile
  int page[kPages];  ///< numbers of the tile's pages in the tensor map
  Note note;
};

__device__ __forceinline__ int page_number(const PageMap& pages, const std::byte* at) {
  return static_cast<int>(static_cast<uint32_t>((at - pages.base) >> 8) / pages.page_units);
}

/// Loads the unit's tiles of keys and values into shared memory. Only the loading thread runs this
/// function. The pages of a tile are looked up two tiles ahead, because a look-up takes half as
/// long as the matrix products of a tile.
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
  // The queries of the first segment are loaded while the first keys are being copied. Most units
  // use only one query array.
  if (unit.segment_count > 0) {
    loaded = a.segments[unit.first_segment].queries;
    store_queries<D, 8>(a, loaded, unit, group, all_queries);
    if constexpr (F::kQueriesHere) rows.load_queries(queries);
  }
  typename Seen::Own note;  // from the note of the tile whose keys are multiplied
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
      const typename Seen::Values values = seen.values(note);  // for the previous tile
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
