#pragma once
// Attention of 128 flat rows on Hopper over tiles of bf16 pages: wgmma from shared memory that the
// copy engine fills. Heads of 80, 96 and 112 elements run as 128 with columns of zeros. One
// warpgroup loads; two compute 64 flat rows each and take turns, so that the softmax of one hides
// behind the products of the other. The next tile's products with the keys are begun before this
// tile's with the values. Heads of 256 elements leave room for tiles of one page of 64 keys;
// their warpgroups take no turns, since products take twice as long beside the same softmax.
//
// A block of threads stays on its processor and computes unit after unit: while the rows of one
// are written, keys and queries of the next are on their way (a block for every unit waited 5 us
// of 60 for them in a prompt of 8,192 tokens, and 12 of 22 where rows see a window of 512).
//
// What a tile is, and what rows see of it, says `Seen<D>`, of which each warpgroup that computes
// makes one for every unit:
//
//   Note                             what the thread that loads writes of a tile
//   static NextTile next(...)        the next tile of a walk, and its note
//   Own own(note)                    what a warpgroup keeps of a note
//   mask(scores, own, flat)          logits of keys that a row does not see become -infinity
//   Values values(own)               what clear() needs of the tile before
//   clear(address, values)           values without a key that anybody may see become zeros: what
//                                    lies there may be no number, and 0 times that is none either

#include <algorithm>

#include "ops/cuda/device_error.h"
#include "ops/cuda/sm90_load.cuh"

namespace longhaul::cuda {

/// A warpgroup that computes, and how far it is with what is loaded for it.
template <int D, class Seen>
class Sm90Computer {
 public:
  using F = Sm90Form<D>;
  using Shared = Sm90Shared<D, typename Seen::Note>;

  __device__ __forceinline__ Sm90Computer(const AttendArgs& a, Shared& shared, int group)
      : a_(a), shared_(shared), group_(group) {}

  __device__ __forceinline__ void compute() {
    if (F::kTurns && group_ == 0) named_arrive<256>(1);
    for (;;) {
      await_keys();
      const int unit = shared_.heads[stage()].unit;
      if (unit < 0) return;
      compute_unit(shared_.units[unit]);
    }
  }

 private:
  __device__ __forceinline__ void compute_unit(const UnitRecord& unit) {
    const int flat = 64 * group_ + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    const Seen seen(unit, group_);
    rows_.begin();
    TileHead head = shared_.heads[stage()];
    if (head.absent) {
      release(shared_.keys_empty[stage()]);
      release(shared_.values_empty[stage()]);
      ++tile_;
      return write_rows(a_, unit, flat, rows_);
    }
    typename Seen::Own note = seen.own(shared_.notes[stage()]);
    const auto weigh = [&] {
      rows_.bend(a_.logits.bend);
      seen.mask(rows_.s, note, flat);
      rows_.soften(a_.logits.scale);
    };
    take_queries(unit, head, flat);
    rows_.multiply_keys(own_queries(), shared_address(shared_.keys[stage()]));
    wgmma_wait<0>();
    release(shared_.keys_empty[stage()]);
    weigh();
    rows_.pack();
    while (!head.last) {
      const typename Seen::Values values = seen.values(note);  // of the tile before
      ++tile_;
      await_keys();
      head = shared_.heads[stage()];
      note = seen.own(shared_.notes[stage()]);
      take_queries(unit, head, flat);
      if constexpr (F::kTurns) named_sync<256>(1 + group_);
      rows_.multiply_keys(own_queries(), shared_address(shared_.keys[stage()]));
      multiply_values(seen, tile_ - 1, values);
      if constexpr (F::kTurns) named_arrive<256>(2 - group_);
      wgmma_wait<1>();
      release(shared_.keys_empty[stage()]);
      weigh();
      wgmma_wait<0>();
      release(shared_.values_empty[stage_of(tile_ - 1)]);
      rows_.shrink_sums();
      rows_.pack();
    }
    multiply_values(seen, tile_, seen.values(note));
    wgmma_wait<0>();
    release(shared_.values_empty[stage()]);
    ++tile_;
    write_rows(a_, unit, flat, rows_);
  }

  __device__ __forceinline__ static uint32_t stage_of(uint32_t tile) { return tile % F::kStages; }
  __device__ __forceinline__ uint32_t stage() const { return stage_of(tile_); }
  __device__ __forceinline__ void await_keys() {
    barrier_wait(shared_address(&shared_.keys_full[stage()]), tile_ / F::kStages & 1);
  }
  __device__ __forceinline__ static void release(uint64_t& barrier) {
    if (threadIdx.x % 32 == 0) barrier_arrive(shared_address(&barrier));
  }

  /// The warpgroup's rows of queries that stay in shared memory.
  __device__ __forceinline__ uint32_t own_queries() const {
    return shared_address(shared_.queries) + 64 * group_ * 128;
  }
  __device__ __forceinline__ void take_queries(const UnitRecord& unit, const TileHead& head,
                                               int flat) {
    if (!head.fresh) return;
    if constexpr (F::kQueriesHere) {
      barrier_wait(shared_address(&shared_.queries_full), forms_++ & 1);
      rows_.load_queries(shared_address(shared_.queries), flat, a_.head_dim);
      release(shared_.queries_empty);
    } else {
      store_queries<D>(a_, head.queries, unit, group_, shared_address(shared_.queries));
    }
  }
  __device__ __forceinline__ void multiply_values(const Seen& seen, uint32_t tile,
                                                  const typename Seen::Values& of) {
    const uint32_t values = shared_address(shared_.values[stage_of(tile)]);
    barrier_wait(shared_address(&shared_.values_full[stage_of(tile)]), tile / F::kStages & 1);
    seen.clear(values, of);
    rows_.multiply_values(values);
  }

  const AttendArgs& a_;
  Shared& shared_;
  int group_;
  Rows64<D> rows_;
  uint32_t tile_ = 0, forms_ = 0;  ///< taken so far
};

template <int D, class Seen>
__global__ void __launch_bounds__(kSm90Threads, 1)
    attend_sm90(const __grid_constant__ AttendArgs a, const __grid_constant__ PageMap pages,
                const Sm90Units units) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Shared = Sm90Shared<D, typename Seen::Note>;
  extern __shared__ uint8_t memory[];
  auto& shared =
      *reinterpret_cast<Shared*>((reinterpret_cast<uintptr_t>(memory) + 1023) / 1024 * 1024);
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) shared.make_barriers();
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if (Sm90Form<D>::kQueriesHere && threadIdx.x / 32 == 1) bring_queries<D>(a, shared);
    if (threadIdx.x == 0) Sm90Loader<D, Seen>(a, pages, shared).load(units);
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
  Sm90Computer<D, Seen>(a, shared, group - 1).compute();
#endif
}

/// `processors`: as many blocks run.
template <int D, class Seen>
void launch_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                 const Sm90Units& units, int processors) {
  constexpr int kBytes = sizeof(Sm90Shared<D, typename Seen::Note>) + 1024;
  static_assert(kBytes <= 227 * 1024);
  const auto kernel = attend_sm90<D, Seen>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of attend_sm90");
  const auto blocks = static_cast<unsigned>(std::min(units.count, processors));
  kernel<<<blocks, kSm90Threads, kBytes, stream>>>(args, pages, units);
  check_launch("attend_sm90");
}

}  // namespace longhaul::cuda
