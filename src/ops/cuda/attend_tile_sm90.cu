// Attention of many rows on Hopper, for stretches of bf16 pages: wgmma from shared memory that the
// copy engine fills. Heads of 80, 96 and 112 elements run as 128 with columns of zeros. One
// warpgroup loads; two compute 64 flat rows each and take turns, so that the softmax of one hides
// behind the products of the other. The next tile's products with the keys are begun before this
// tile's with the values.

#include <new>

#include "ops/cuda/device_error.h"
#include "ops/cuda/hopper.cuh"
#include "ops/cuda/row_block.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 3 * 128;
constexpr int kKeys = 128;          ///< two pages
constexpr int kHalf = kKeys * 128;  ///< bytes of 64 columns of a tile: rows of 128 bytes, swizzled

/// What the warpgroups that compute need to know of a tile.
struct TileNote {
  const float* queries;  ///< the form that multiplies its keys; null: there is no tile at all
  int32_t begin, end;    ///< slots with keys
  int32_t offset;        ///< key number n stands at offset + n behind the unit's first row
  int32_t nearest, furthest;
  int32_t last;  ///< no tile follows
};

template <int D>
struct Sm90Shared {
  static constexpr int kStages = D == 64 ? 4 : 2;
  static constexpr int kTile = D / 64 * kHalf;  ///< bytes
  uint8_t queries[kTile];
  uint8_t keys[kStages][kTile];
  uint8_t values[kStages][kTile];
  uint64_t keys_full[kStages], keys_empty[kStages];
  uint64_t values_full[kStages], values_empty[kStages];
  TileNote notes[kStages];  ///< of the keys
};

/// A tile that is to be loaded.
struct NextTile {
  bool there;
  int page[2];  ///< of the map
  TileNote note;
};

__device__ __forceinline__ NextTile next_tile(TileWalk& walk, const UnitRecord& unit,
                                              const PageMap& pages) {
  NextTile next{};
  if (!walk.next()) return next;
  const SegmentRecord& s = walk.segment();
  const int last = (s.shift + s.count - 1) / kPageRows;
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    const std::byte* at = page_of(s, min(2 * walk.tile() + p, last));
    next.page[p] =
        static_cast<int>(static_cast<uint32_t>((at - pages.base) >> 8) / pages.page_units);
  }
  const int32_t begin = s.shift - walk.tile() * kKeys;
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
                                           const UnitRecord& unit, Sm90Shared<D>& shared) {
  using Shared = Sm90Shared<D>;
  const auto load = [&](uint8_t* to, uint64_t* full, int first, const int(&page)[2]) {
    const uint32_t barrier = shared_address(full), at = shared_address(to);
    barrier_expect(barrier, Shared::kTile);
#pragma unroll
    for (int h = 0; h < D / 64; ++h) {
      copy_box(at + h * kHalf, &pages.map, 64 * h, first, page[0], barrier);
      copy_box(at + h * kHalf + kHalf / 2, &pages.map, 64 * h, first, page[1], barrier);
    }
  };
  TileWalk walk(a.segments, unit, kKeys);
  NextTile tile = next_tile(walk, unit, pages), next = next_tile(walk, unit, pages);
  if (!tile.there) {
    shared.notes[0] = {};
    barrier_arrive(shared_address(&shared.keys_full[0]));
  }
  for (int i = 0; tile.there; ++i) {
    const int stage = i % Shared::kStages;
    const uint32_t parity = (i / Shared::kStages) & 1;
    tile.note.last = !next.there;
    barrier_wait(shared_address(&shared.keys_empty[stage]), parity ^ 1);
    shared.notes[stage] = tile.note;  // there when keys_full is
    load(shared.keys[stage], &shared.keys_full[stage], 0, tile.page);
    const NextTile after = next_tile(walk, unit, pages);
    barrier_wait(shared_address(&shared.values_empty[stage]), parity ^ 1);
    load(shared.values[stage], &shared.values_full[stage], kPageRows, tile.page);
    tile = next;
    next = after;
  }
}

/// The 64 flat rows from `flat` on of the unit, as bf16, by the 128 threads that will multiply
/// them. Columns past head_dim are zeros.
template <int D>
__device__ __forceinline__ void store_queries(const float* queries, const UnitRecord& unit,
                                              int heads, int head_dim, int flat, uint32_t to) {
  constexpr int kChunks = D / 8;
  const int flat_rows = unit.row_count * unit.head_count;
#pragma unroll 4
  for (int i = 0; i < 64 * kChunks / 128; ++i) {
    const int c = threadIdx.x % 128 + 128 * i, n = flat + c / kChunks, chunk = c % kChunks;
    uint4 x = {0, 0, 0, 0};
    if (n < flat_rows && 8 * chunk < head_dim) {
      const int64_t row = unit.row_begin + n / unit.head_count;
      const float4* from =
          reinterpret_cast<const float4*>(
              queries + (row * heads + unit.head_begin + n % unit.head_count) * head_dim) +
          2 * chunk;
      const float4 u = __ldg(from), v = __ldg(from + 1);
      x = {bf16_pair(u.x, u.y), bf16_pair(u.z, u.w), bf16_pair(v.x, v.y), bf16_pair(v.z, v.w)};
    }
    store_16(to + chunk / 8 * kHalf + n * 128 + ((chunk % 8) ^ (n % 8)) * 16, x);
  }
}

/// 64 flat rows of one warpgroup. A lane holds rows `flat` and flat + 8 of the unit.
template <int D>
struct Rows64 {
  using Shared = Sm90Shared<D>;
  float o[D / 2], s[kKeys / 2];
  uint32_t p[kKeys / 4];
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0}, shrink[2];

  __device__ __forceinline__ void multiply_keys(uint32_t queries, uint32_t keys) {
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      const uint32_t at = k / 4 * kHalf + k % 4 * 32;
      wgmma_shared(s, matrix_at(queries + at, 16, 1024), matrix_at(keys + at, 16, 1024), k > 0);
    }
    wgmma_commit();
  }

  __device__ __forceinline__ void multiply_values(uint32_t values) {
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kKeys / 16; ++k) {
      wgmma_registers(o, p + 4 * k, matrix_at(values + k * 2048, kHalf, 1024));
    }
    wgmma_commit();
  }

  /// As far as a cap bounds them.
  __device__ __forceinline__ void bend(float factor) {
    if (factor == 0) return;
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) s[i] = tanh_of(s[i] * factor);
  }

  __device__ __forceinline__ void soften(float scale) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float best = top[h];
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
        best = fmaxf(best, fmaxf(s[4 * i + 2 * h], s[4 * i + 2 * h + 1]));
      }
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
      const float safe = best == -INFINITY ? 0.0f : best * scale;
      shrink[h] = exp2_of(top[h] * scale - safe);
      top[h] = best;
      float added = 0;
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
        s[4 * i + 2 * h] = exp2_of(s[4 * i + 2 * h] * scale - safe);
        s[4 * i + 2 * h + 1] = exp2_of(s[4 * i + 2 * h + 1] * scale - safe);
        added += s[4 * i + 2 * h] + s[4 * i + 2 * h + 1];
      }
      sum[h] = sum[h] * shrink[h] + added;
    }
  }

  __device__ __forceinline__ void pack() {
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) p[i] = bf16_pair(s[2 * i], s[2 * i + 1]);
  }
};

/// Logits of keys that a row does not see become -infinity. `first_row` and `last_row` bound the
/// warpgroup's rows behind the unit's first.
__device__ __forceinline__ void mask_tile(float (&s)[kKeys / 2], const TileNote& note,
                                          const UnitRecord& unit, int flat, int first_row,
                                          int last_row) {
  const int32_t begin = note.begin, end = note.end, near = note.nearest, far = note.furthest;
  const int32_t offset = note.offset;
  if (begin <= 0 && end >= kKeys && first_row - (offset + kKeys - 1) >= near &&
      last_row - offset < far) {
    return;
  }
  const int row[2] = {flat / unit.head_count, (flat + 8) / unit.head_count};
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    // near <= row - offset - n < far
    const int32_t distance = row[h] - offset;
    const int32_t first = max(begin, distance - far + 1), last = min(end - 1, distance - near);
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) {
      const int n = 8 * (i / 2) + 2 * (threadIdx.x % 4) + i % 2;
      if (n < first || n > last) s[4 * (i / 2) + 2 * h + i % 2] = -INFINITY;
    }
  }
}

/// Values of slots without a key become zeros: what lies there may be no number, and 0 times that
/// is none either.
template <int D>
__device__ __forceinline__ void clear_values(uint32_t values, int32_t begin, int32_t end,
                                             int group) {
  const int n = threadIdx.x % 128;
  if (n < begin || n >= end) {
#pragma unroll
    for (int i = 0; i < D / 8; ++i) {
      store_16(values + i / 8 * kHalf + n * 128 + i % 8 * 16, {0, 0, 0, 0});
    }
  }
  publish_to_engines();
  named_sync<128>(3 + group);
}

template <int D>
__device__ __forceinline__ void compute(const AttendArgs& a, const UnitRecord& unit,
                                        Sm90Shared<D>& shared, int group) {
  using Shared = Sm90Shared<D>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4,
            flat_rows = unit.row_count * unit.head_count;
  const int flat = 64 * group + 16 * warp + lane / 4;
  const int first_row = 64 * group / unit.head_count,
            last_row = (64 * group + 63) / unit.head_count;
  const uint32_t all_queries = shared_address(shared.queries),
                 queries = all_queries + 64 * group * 128;
  const float* loaded = nullptr;
  Rows64<D> rows;
#pragma unroll
  for (int i = 0; i < D / 2; ++i) rows.o[i] = 0;
  TileNote note;  // of the tile whose keys are multiplied
  const auto begin_keys = [&](int n) {
    const int stage = n % Shared::kStages;
    barrier_wait(shared_address(&shared.keys_full[stage]), (n / Shared::kStages) & 1);
    note = shared.notes[stage];
    if (note.queries == loaded) return;
    loaded = note.queries;
    store_queries<D>(loaded, unit, a.heads, a.head_dim, 64 * group, all_queries);
    publish_to_engines();
    named_sync<128>(3 + group);
  };
  const auto weigh = [&] {
    rows.bend(a.logits.bend);
    mask_tile(rows.s, note, unit, flat, first_row, last_row);
    rows.soften(a.logits.scale);
  };
  const auto multiply_values = [&](int n, int32_t from, int32_t to) {
    const int stage = n % Shared::kStages;
    const uint32_t values = shared_address(shared.values[stage]);
    barrier_wait(shared_address(&shared.values_full[stage]), (n / Shared::kStages) & 1);
    if (from > 0 || to < kKeys) clear_values<D>(values, from, to, group);
    rows.multiply_values(values);
  };
  if (group == 0) named_arrive<256>(1);
  begin_keys(0);
  if (note.queries != nullptr) {
    rows.multiply_keys(queries, shared_address(shared.keys[0]));
    wgmma_wait<0>();
    if (lane == 0) barrier_arrive(shared_address(&shared.keys_empty[0]));
    weigh();
    rows.pack();
    int n = 1;
    for (; !note.last; ++n) {
      const int stage = n % Shared::kStages, before = (n - 1) % Shared::kStages;
      const int32_t from = note.begin, to = note.end;  // of the tile before
      begin_keys(n);
      named_sync<256>(1 + group);
      rows.multiply_keys(queries, shared_address(shared.keys[stage]));
      multiply_values(n - 1, from, to);
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
    multiply_values(n - 1, note.begin, note.end);
    wgmma_wait<0>();
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    rows.sum[h] += __shfl_xor_sync(~0u, rows.sum[h], 1);
    rows.sum[h] += __shfl_xor_sync(~0u, rows.sum[h], 2);
    const int f = flat + 8 * h;
    if (f >= flat_rows) continue;
    const RowPlace to = place_of(a, unit, f, a.head_dim);
    float top = rows.top[h] * a.logits.scale, sum = rows.sum[h];
    const float factor = end_row(to, top, sum);
    float2* x = reinterpret_cast<float2*>(to.sums) + lane % 4;
#pragma unroll
    for (int i = 0; i < D / 8; ++i) {
      if (8 * i >= a.head_dim) break;
      x[4 * i] = make_float2(rows.o[4 * i + 2 * h] * factor, rows.o[4 * i + 2 * h + 1] * factor);
    }
    if (lane % 4 == 0) write_denominator(to, top, sum);
  }
}

template <int D>
__global__ void __launch_bounds__(kThreads, 1)
    attend_tile_sm90(const __grid_constant__ AttendArgs a, const __grid_constant__ PageMap pages,
                     const UnitRecord* units) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Shared = Sm90Shared<D>;
  extern __shared__ uint8_t memory[];
  auto& shared =
      *reinterpret_cast<Shared*>((reinterpret_cast<uintptr_t>(memory) + 1023) / 1024 * 1024);
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int s = 0; s < Shared::kStages; ++s) {
      barrier_init(shared_address(&shared.keys_full[s]), 1);
      barrier_init(shared_address(&shared.values_full[s]), 1);
      barrier_init(shared_address(&shared.keys_empty[s]), 8);  // warps that compute
      barrier_init(shared_address(&shared.values_empty[s]), 8);
    }
    barriers_are_made();
  }
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
  constexpr int kBytes = sizeof(Sm90Shared<D>) + 1024;
  static_assert(kBytes <= 227 * 1024);
  const auto kernel = attend_tile_sm90<D>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of attend_tile_sm90");
  kernel<<<static_cast<unsigned>(count), kThreads, kBytes, stream>>>(args, pages, units);
  check_launch("attend_tile_sm90");
}

}  // namespace

void launch_attend_tile_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                             const UnitRecord* units, int count, int head_dim) {
  if (head_dim <= 64) {
    launch<64>(stream, args, pages, units, count);
  } else {
    launch<128>(stream, args, pages, units, count);
  }
}

}  // namespace longhaul::cuda
