// Attention on Hopper of tiles of 64 rows that see some rows of each of a list of pages, by masks
// (PageMasks of ops/attention.h): the kernel of attend_tile_sm90.cu, whose two warpgroups have a
// tile each. They read the pages that either of them sees.

#include "ops/cuda/device_error.h"
#include "ops/cuda/sm90_rows.cuh"

namespace longhaul::cuda {
namespace {

struct MaskNote {
  const float* queries;  ///< the form that multiplies its keys; null: there is no tile at all
  uint64_t seen[2][2];   ///< [warpgroup][page]
  int32_t offset[2];     ///< the pages' first keys stand so far behind the unit's first row
  int32_t last;          ///< no tile follows
};

/// A tile that is to be loaded.
struct NextTile {
  bool there;
  int page[2];  ///< of the map
  MaskNote note;
};

__device__ __forceinline__ NextTile next_tile(TileWalk& walk, const UnitRecord& unit,
                                              const PageMap& pages) {
  NextTile next{};
  if (!walk.next()) return next;
  const SegmentRecord& s = walk.segment();
  const int last = s.count / kPageRows - 1;
  next.there = true;
  next.note.queries = s.queries;
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    const int at = min(2 * walk.tile() + p, last);
    next.page[p] = static_cast<int>(static_cast<uint32_t>((page_of(s, at) - pages.base) >> 8) /
                                    pages.page_units);
    next.note.offset[p] = masked_offset(s, at, unit.row_position);
    if (2 * walk.tile() + p > last) continue;  // that page has been seen
#pragma unroll
    for (int g = 0; g < 2; ++g) next.note.seen[g][p] = mask_of(s, at, g);
  }
  return next;
}

/// The thread that loads; as in attend_tile_sm90.cu it looks up two tiles ahead.
template <int D>
__device__ __forceinline__ void load_pages(const AttendArgs& a, const PageMap& pages,
                                           const UnitRecord& unit,
                                           Sm90Shared<D, MaskNote>& shared) {
  constexpr int kStages = Sm90Form<D>::kStages;
  TileWalk walk(a.segments, unit, Sm90Form<D>::kKeys);
  NextTile tile = next_tile(walk, unit, pages), next = next_tile(walk, unit, pages);
  if (!tile.there) {
    shared.notes[0] = {};
    barrier_arrive(shared_address(&shared.keys_full[0]));
  }
  for (int i = 0; tile.there; ++i) {
    const int stage = i % kStages;
    const uint32_t parity = (i / kStages) & 1;
    tile.note.last = !next.there;
    barrier_wait(shared_address(&shared.keys_empty[stage]), parity ^ 1);
    shared.notes[stage] = tile.note;  // there when keys_full is
    copy_pages<D>(shared.keys[stage], &shared.keys_full[stage], pages, 0, tile.page);
    const NextTile after = next_tile(walk, unit, pages);
    barrier_wait(shared_address(&shared.values_empty[stage]), parity ^ 1);
    copy_pages<D>(shared.values[stage], &shared.values_full[stage], pages, kPageRows, tile.page);
    tile = next;
    next = after;
  }
}

/// Keys of a page that the warpgroup's tile sees, and which of its rows stand before all of them.
struct SeenPage {
  uint64_t seen;
  int32_t offset;
};

/// Logits of keys that a row does not see become -infinity. `row`: this lane's first row.
__device__ __forceinline__ void mask_page(float* s, const SeenPage& page, int row, int first_row) {
  const bool causal = page.offset + kPageRows - 1 > first_row;
  if (!causal && page.seen == ~uint64_t{0}) return;
  const uint64_t seen = page.seen >> threadIdx.x % 4 * 2;
  const uint32_t half[2] = {static_cast<uint32_t>(seen), static_cast<uint32_t>(seen >> 32)};
#pragma unroll
  for (int i = 0; i < kPageRows / 4; ++i) {
    const int n = 8 * (i / 2) + i % 2;
    if ((half[n / 32] >> n % 32 & 1) == 0) {
      s[4 * (i / 2) + i % 2] = -INFINITY;
      s[4 * (i / 2) + i % 2 + 2] = -INFINITY;
    }
  }
  if (!causal) return;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int32_t last = row + 8 * h - page.offset - static_cast<int32_t>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int i = 0; i < kPageRows / 4; ++i) {
      if (8 * (i / 2) + i % 2 > last) s[4 * (i / 2) + 2 * h + i % 2] = -INFINITY;
    }
  }
}

/// Values behind the unit's last row become zeros: what lies there may be no number, and 0 times
/// that is none either.
template <int D>
__device__ __forceinline__ void clear_behind(uint32_t values, int32_t offset0, int32_t offset1,
                                             int rows, int group) {
  const int n = threadIdx.x % 128;
  if ((n < kPageRows ? offset0 : offset1) + n % kPageRows >= rows) {
#pragma unroll
    for (int i = 0; i < D / 8; ++i) {
      store_16(values + i / 8 * Sm90Form<D>::kHalf + n * 128 + i % 8 * 16, {0, 0, 0, 0});
    }
  }
  publish_to_engines();
  named_sync<128>(3 + group);
}

template <int D>
__device__ __forceinline__ void compute(const AttendArgs& a, const UnitRecord& unit,
                                        Sm90Shared<D, MaskNote>& shared, int group) {
  constexpr int kStages = Sm90Form<D>::kStages;
  const int lane = threadIdx.x % 32, first_row = 64 * group;
  const int flat = first_row + static_cast<int>(threadIdx.x) / 32 % 4 * 16 + lane / 4;
  const uint32_t all_queries = shared_address(shared.queries),
                 queries = all_queries + first_row * 128;
  const float* loaded = nullptr;
  Rows64<D> rows;
#pragma unroll
  for (int i = 0; i < D / 2; ++i) rows.o[i] = 0;
  if (unit.segment_count > 0) {  // while the first keys are on their way: often the only form
    loaded = a.segments[unit.first_segment].queries;
    store_queries<D, 8>(a, loaded, unit, group, all_queries);
  }
  struct {
    SeenPage page[2];
    int32_t last;
    bool there;
  } note;  // of the tile whose keys are multiplied
  const auto begin_keys = [&](int n) {
    const int stage = n % kStages;
    barrier_wait(shared_address(&shared.keys_full[stage]), (n / kStages) & 1);
    const MaskNote& of = shared.notes[stage];
    const float* form = of.queries;
    note = {{{of.seen[group][0], of.offset[0]}, {of.seen[group][1], of.offset[1]}},
            of.last,
            form != nullptr};
    if (form == nullptr || form == loaded) return;
    loaded = form;
    store_queries<D, 2>(a, loaded, unit, group, all_queries);
  };
  const auto weigh = [&] {
    rows.bend(a.logits.bend);
    mask_page(rows.s, note.page[0], flat, first_row);
    mask_page(rows.s + kPageRows / 2, note.page[1], flat, first_row);
    rows.soften(a.logits.scale);
  };
  const auto multiply_values = [&](int n, int32_t offset0, int32_t offset1) {
    const int stage = n % kStages;
    const uint32_t values = shared_address(shared.values[stage]);
    barrier_wait(shared_address(&shared.values_full[stage]), (n / kStages) & 1);
    if (max(offset0, offset1) + kPageRows > unit.row_count) {
      clear_behind<D>(values, offset0, offset1, unit.row_count, group);
    }
    rows.multiply_values(values);
  };
  if (group == 0) named_arrive<256>(1);
  begin_keys(0);
  if (note.there) {
    rows.multiply_keys(queries, shared_address(shared.keys[0]));
    wgmma_wait<0>();
    if (lane == 0) barrier_arrive(shared_address(&shared.keys_empty[0]));
    weigh();
    rows.pack();
    int n = 1;
    for (; !note.last; ++n) {
      const int stage = n % kStages, before = (n - 1) % kStages;
      const int32_t offset0 = note.page[0].offset, offset1 = note.page[1].offset;
      begin_keys(n);
      named_sync<256>(1 + group);
      rows.multiply_keys(queries, shared_address(shared.keys[stage]));
      multiply_values(n - 1, offset0, offset1);  // of the tile before
      named_arrive<256>(2 - group);
      wgmma_wait<1>();
      if (lane == 0) barrier_arrive(shared_address(&shared.keys_empty[stage]));
      weigh();
      wgmma_wait<0>();
      if (lane == 0) barrier_arrive(shared_address(&shared.values_empty[before]));
#pragma unroll
      for (int k = 0; k < D / 2; ++k) rows.o[k] *= rows.shrink[(k >> 1) & 1];
      rows.pack();
    }
    multiply_values(n - 1, note.page[0].offset, note.page[1].offset);
    wgmma_wait<0>();
  }
  write_rows(a, unit, flat, rows);
}

template <int D>
__global__ void __launch_bounds__(kSm90Threads, 1)
    attend_masked_sm90(const __grid_constant__ AttendArgs a, const __grid_constant__ PageMap pages,
                       const UnitRecord* units) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Shared = Sm90Shared<D, MaskNote>;
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
  constexpr int kBytes = sizeof(Sm90Shared<D, MaskNote>) + 1024;
  static_assert(kBytes <= 227 * 1024);
  const auto kernel = attend_masked_sm90<D>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of attend_masked_sm90");
  kernel<<<static_cast<unsigned>(count), kSm90Threads, kBytes, stream>>>(args, pages, units);
  check_launch("attend_masked_sm90");
}

}  // namespace

void launch_attend_masked_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                               const UnitRecord* units, int count, int head_dim) {
  const auto launch_it = head_dim <= 64 ? launch<64> : launch<128>;
  launch_it(stream, args, pages, units, count);
}

}  // namespace longhaul::cuda
