// Attention of wide heads on Hopper, for prefill and decode: heads of 512 elements (Gemma 4's
// layers without a window), and latent rows of 576 elements, whose last 512 are also the value
// (multi-head latent attention). A thread block computes 64 flat rows (queries of one head of one
// query row). All query heads of latent attention share a row of keys, so a tile of 64 keys is read
// once for up to 64 heads.
//
// Two warpgroups multiply the queries by 32 keys of a tile each, exchange the weights in shared
// memory, and compute 256 columns of the output each. Queries and keys lie in shared memory in the
// 128-byte swizzle: groups of 64 columns, in each of which a row has 128 bytes. While a latent tile
// is multiplied, the next one is loaded. With 512 elements the two tiles in memory are the keys and
// the values; keys load while values are multiplied, and values while keys are.

#include <new>

#include "ops/attention/key_tile.cuh"
#include "ops/attention/row_place.cuh"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/hopper.cuh"
#include "ops/core/gpu/reductions.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kWideThreads = 256;
constexpr int kWideKeys = kTileKeys;
constexpr int kOwnKeys = kWideKeys / 2;  ///< keys of a tile whose weights a warpgroup computes
constexpr int kWideValues = 512;         ///< columns of the output that are computed
constexpr int kColumnBytes = 64 * 128;   ///< 64 columns of 64 rows
constexpr int kWarpgroupColumns = kWideValues / 2;

template <int D>
struct WideForm {
  static constexpr bool kLatent = D != kWideValues;
  static constexpr int kTileBytes = D / 64 * kColumnBytes;
  /// Columns before those of the values. Their outputs are zeros.
  static constexpr int kSkipped = D - kWideValues;
};

template <int D>
struct WideShared {
  uint8_t queries[WideForm<D>::kTileBytes];
  uint8_t tiles[2][WideForm<D>::kTileBytes];
  uint8_t weights[kColumnBytes];  ///< bf16 [64 rows, 64 keys] in the swizzle
  float tops[2][64];              ///< largest logits or denominators of each warpgroup's keys
  int32_t offsets[2][kWideKeys];
  TileInfo info[4];          ///< tile i is in info[i % 4]
  const std::byte* page[4];  ///< its page, unless rows are listed
  int box[4];                ///< number of its page in the map; -1: threads load the tile
  uint64_t full[2];          ///< the tensor memory accelerator (TMA) has filled a tile's memory
  UnitRecord unit;
  alignas(TileWalk) std::byte walk[sizeof(TileWalk)];  ///< used by the walking thread

  /// Finds the next tile of the walk. The page is read two tiles ahead, because all threads would
  /// wait for it.
  __device__ __forceinline__ void advance(int tile, const PageMap& pages) {
    const TileInfo next = next_tile<kWideKeys>(*reinterpret_cast<TileWalk*>(walk));
    info[tile % 4] = next;
    box[tile % 4] = -1;
    if (next.segment == nullptr || lists_rows(*next.segment)) return;
    const SegmentRecord& s = *next.segment;
    const std::byte* const at = page_of(s, next.slot / kPageRows);
    page[tile % 4] = at;
    // The TMA would also read slots without a key.
    const bool whole = next.slot >= s.shift && next.slot + kWideKeys <= s.shift + s.count;
    const bool plain = s.key_type == PageType::kBF16 && s.value_type == PageType::kBF16;
    if (pages.base == nullptr || !whole || !plain || at < pages.base) return;
    box[tile % 4] = static_cast<int>((at - pages.base) >> 8);
  }
};

/// Address of 8 elements of a row in the swizzle.
__device__ __forceinline__ uint32_t place_of_eight(uint32_t tile, int row, int chunk) {
  return tile + static_cast<uint32_t>(chunk / 8 * kColumnBytes + row * 128 +
                                      ((chunk % 8) ^ (row % 8)) * 16);
}

/// Loads the keys (or values) of slots [slot, slot + 64) as bf16. Slots without a key become zeros.
/// Copies of bf16 rows complete with the thread's next group of copies.
template <int D>
__device__ __forceinline__ void load_wide(const SegmentRecord& s, int32_t slot,
                                          const std::byte* page, bool values, uint32_t to) {
  constexpr int kChunks = D / 8, kAll = kWideKeys * kChunks;
  const PageType type = values ? s.value_type : s.key_type;
  const int row_bytes = stored_bytes(type, D);
  const int side = values ? kPageRows * stored_bytes(s.key_type, D) : 0;
  const int32_t* const index = lists_rows(s) ? s.index : nullptr;
  const int32_t first = s.shift - slot, end = first + s.count;
  const auto row_of_slot = [&](int n, bool present) {
    if (index == nullptr) return page + side + (slot + n) % kPageRows * row_bytes;
    const int at = present ? __ldg(index + slot + n) : 0;
    return s.pages[at / kPageRows] + side + at % kPageRows * row_bytes;
  };
  if (type == PageType::kBF16) {
#pragma unroll 6
    for (int c = static_cast<int>(threadIdx.x); c < kAll; c += kWideThreads) {
      const int n = c / kChunks, chunk = c % kChunks;
      const bool present = n >= first && n < end;
      copy_16(place_of_eight(to, n, chunk), row_of_slot(n, present) + (present ? chunk * 16 : 0),
              present);
    }
    return;
  }
#pragma unroll 1
  for (int c = static_cast<int>(threadIdx.x); c < kAll; c += kWideThreads) {
    const int n = c / kChunks, chunk = c % kChunks;
    const bool present = n >= first && n < end;
    copy_eight(place_of_eight(to, n, chunk), row_of_slot(n, present), type, chunk, present);
  }
}

template <int D>
__device__ __forceinline__ void load_wide_queries(const AttendArgs& a, const float* queries,
                                                  const UnitRecord& unit, uint32_t to) {
  constexpr int kChunks = D / 8;
  const int flat_rows = unit.row_count * unit.head_count;
#pragma unroll 4
  for (int c = static_cast<int>(threadIdx.x); c < 64 * kChunks; c += kWideThreads) {
    const int n = c / kChunks, chunk = c % kChunks;
    uint4 eight{0, 0, 0, 0};
    if (n < flat_rows) {
      const auto* const x =
          reinterpret_cast<const float4*>(queries + vector_of(a, unit, n) * D) + 2 * chunk;
      const float4 low = __ldg(x), high = __ldg(x + 1);
      eight = {bf16_pair(low.x, low.y), bf16_pair(low.z, low.w), bf16_pair(high.x, high.y),
               bf16_pair(high.z, high.w)};
    }
    store_16(place_of_eight(to, n, chunk), eight);
  }
}

/// Rotates the keys of a tile in place. Key n has position `position` + offsets[n].
__device__ __forceinline__ void rotate_wide(const RotationTable& table, uint32_t keys,
                                            const int32_t* offsets, int64_t position) {
  const int half = table.half, chunks = table.in_eights ? half / 8 : 0;
  for (int i = static_cast<int>(threadIdx.x); i < kWideKeys * chunks; i += kWideThreads) {
    const int n = i / chunks, chunk = i % chunks;
    if (offsets[n] == kNoKey) continue;
    const int64_t at = (position + offsets[n] - table.first) * half + 8 * chunk;
    const auto* const cosine = reinterpret_cast<const float4*>(table.cosine + at);
    const auto* const sine = reinterpret_cast<const float4*>(table.sine + at);
    const float4 c[] = {__ldg(cosine), __ldg(cosine + 1)}, s[] = {__ldg(sine), __ldg(sine + 1)};
    rotate_eight(place_of_eight(keys, n, chunk), place_of_eight(keys, n, chunk + chunks), c, s);
  }
  if (table.in_eights) return;
  for (int c = static_cast<int>(threadIdx.x); c < kWideKeys * half; c += kWideThreads) {
    const int n = c / half, t = c % half, u = t + half;
    if (offsets[n] == kNoKey) continue;
    const int64_t at = (position + offsets[n] - table.first) * half + t;
    const float cosine = __ldg(table.cosine + at), sine = __ldg(table.sine + at);
    const uint32_t low = place_of_eight(keys, n, t / 8) + t % 8 * 2;
    const uint32_t high = place_of_eight(keys, n, u / 8) + u % 8 * 2;
    rotate_one(low, high, cosine, sine);
  }
}

/// 64 flat rows in a warpgroup, with its columns of the output. A lane holds flat rows `flat` and
/// flat + 8.
struct WideRows {
  float o[kWarpgroupColumns / 2], s[kOwnKeys / 2];
  uint32_t p[kWideKeys / 4];
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};

  /// `keys`: the warpgroup's first key of the tile.
  template <int D>
  __device__ __forceinline__ void multiply_keys(uint32_t queries, uint32_t keys) {
    const uint64_t row = matrix_at(queries, 16, 1024), key = matrix_at(keys, 16, 1024);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      const uint32_t at = k / 4 * kColumnBytes + k % 4 * 32;
      wgmma_shared(s, matrix_behind(row, at), matrix_behind(key, at), k > 0);
    }
    wgmma_commit();
  }

  /// `values`: the warpgroup's first column of the tile.
  __device__ __forceinline__ void multiply_values(uint32_t values) {
    const uint64_t first = matrix_at(values, kColumnBytes, 1024);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kWideKeys / 16; ++k) {
      wgmma_registers(o, p + 4 * k, matrix_behind(first, k * 2048));
    }
    wgmma_commit();
  }

  /// Sets the logits of keys that a row does not see to -infinity. `offsets`: of the warpgroup's
  /// keys.
  __device__ __forceinline__ void mask(const TileInfo& info, const int32_t* offsets, int flat,
                                       int heads) {
    const int row[2] = {flat / heads, (flat + 8) / heads};
#pragma unroll
    for (int i = 0; i < kOwnKeys / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int32_t offset = offsets[8 * i + 2 * (threadIdx.x % 4) + j];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          if (!sees(info.nearest, info.furthest, row[h], offset)) s[4 * i + 2 * h + j] = -INFINITY;
        }
      }
    }
  }

  /// Writes the largest logits of the warpgroup's keys to `tops` [64].
  __device__ __forceinline__ void tell_tops(float* tops, int flat) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float best = -INFINITY;
#pragma unroll
      for (int i = 0; i < kOwnKeys / 8; ++i) {
        best = fmaxf(best, fmaxf(s[4 * i + 2 * h], s[4 * i + 2 * h + 1]));
      }
      best = quad_max(best);
      if (threadIdx.x % 4 == 0) tops[flat + 8 * h] = best;
    }
  }

  /// Converts logits to weights, with the largest logits of both warpgroups' keys, and writes them
  /// to shared memory. Scales the earlier sums to match them.
  __device__ __forceinline__ void soften(float scale, const float (*tops)[64], int flat, int group,
                                         uint32_t weights) {
    float shrink[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = flat + 8 * h;
      const float best = fmaxf(top[h], fmaxf(tops[0][row], tops[1][row]));
      const float safe = best == -INFINITY ? 0.0f : best * scale;
      shrink[h] = exp2_of(top[h] * scale - safe);
      top[h] = best;
      float added = 0;
      const uint32_t to = weights + row * 128 + threadIdx.x % 4 * 4;
#pragma unroll
      for (int i = 0; i < kOwnKeys / 8; ++i) {
        const float a = exp2_of(s[4 * i + 2 * h] * scale - safe);
        const float b = exp2_of(s[4 * i + 2 * h + 1] * scale - safe);
        added += a + b;
        const uint32_t chunk = static_cast<uint32_t>(kOwnKeys / 8 * group + i);
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(to + (chunk ^ row % 8) * 16),
                     "r"(bf16_pair(a, b))
                     : "memory");
      }
      sum[h] = sum[h] * shrink[h] + added;
    }
    // Most tiles change no row's largest logit.
    if (__all_sync(~0u, shrink[0] == 1 && shrink[1] == 1)) return;
#pragma unroll
    for (int k = 0; k < kWarpgroupColumns / 2; ++k) o[k] *= shrink[(k >> 1) & 1];
  }

  /// Loads the weights of all keys of the tile.
  __device__ __forceinline__ void load_weights(uint32_t weights) { load_rows<64>(p, weights, 0); }

  /// Sums the denominators over all keys. `sums` is shared memory.
  __device__ __forceinline__ void add_sums(float (*sums)[64], int flat, int group) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      sum[h] = quad_sum(sum[h]);
      if (threadIdx.x % 4 == 0) sums[group][flat + 8 * h] = sum[h];
    }
    __syncthreads();
#pragma unroll
    for (int h = 0; h < 2; ++h) sum[h] = sums[0][flat + 8 * h] + sums[1][flat + 8 * h];
  }

  template <int D>
  __device__ __forceinline__ void write(const AttendArgs& a, const UnitRecord& unit, int flat,
                                        int group) {
    const int lane = threadIdx.x % 32, flat_rows = unit.row_count * unit.head_count;
    constexpr int kSkipped = WideForm<D>::kSkipped;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int f = flat + 8 * h;
      if (f >= flat_rows) continue;
      const RowPlace to = place_of(a, unit, f, D);
      float best = top[h] * a.logits.scale, denominator = sum[h];
      const float factor = end_row(to, best, denominator);
      auto* const row = reinterpret_cast<float2*>(to.sums) + lane % 4;
      auto* const x = row + (kSkipped + group * kWarpgroupColumns) / 2;
#pragma unroll
      for (int i = 0; i < kWarpgroupColumns / 8; ++i) {
        x[4 * i] = make_float2(o[4 * i + 2 * h] * factor, o[4 * i + 2 * h + 1] * factor);
      }
      if (group != 0) continue;
#pragma unroll
      for (int i = 0; i < kSkipped / 8; ++i) row[4 * i] = make_float2(0, 0);
      if (lane % 4 == 0) write_denominator(to, best, denominator);
    }
  }
};

/// Whether rows [0, last] of the unit see all keys of a tile. The ends decide: offsets ascend, and
/// slots without keys are at the ends.
__device__ __forceinline__ bool sees_all(const TileInfo& info, const int32_t* offsets, int last) {
  const int32_t near = offsets[kWideKeys - 1], far = offsets[0];
  return near != kNoKey && far != kNoKey && -near >= info.nearest && last - far < info.furthest;
}

template <int D>
__global__ void __launch_bounds__(kWideThreads, 1)
    attend_wide(const __grid_constant__ AttendArgs a, const __grid_constant__ PageMap pages,
                const UnitRecord* units) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using F = WideForm<D>;
  extern __shared__ uint8_t memory[];
  auto& shared =
      *reinterpret_cast<WideShared<D>*>((reinterpret_cast<uintptr_t>(memory) + 1023) / 1024 * 1024);
  const UnitRecord& unit = shared.unit;
  const int thread = static_cast<int>(threadIdx.x), group = thread / 128;
  const int flat = thread % 128 / 32 * 16 + thread % 32 / 4;
  // The second warpgroup may begin a tile later than the first, so one of its threads walks.
  const bool walks = thread == 128;
  const uint32_t queries = shared_address(shared.queries);
  const uint32_t weights = shared_address(shared.weights);
  const uint32_t tiles[2] = {shared_address(shared.tiles[0]), shared_address(shared.tiles[1])};
  await_turn();
  if (walks) {
    shared.unit = units[blockIdx.x];
    new (shared.walk) TileWalk(a.segments, shared.unit, kWideKeys);
    shared.advance(0, pages);
    shared.advance(1, pages);
    barrier_init(shared_address(&shared.full[0]), 1);
    barrier_init(shared_address(&shared.full[1]), 1);
    barriers_are_made();
  }
  __syncthreads();
  // Each call begins a group of copies, which may be empty.
  const auto load = [&](int number, bool of_values, int to) {
    const TileInfo& tile = shared.info[number % 4];
    if (tile.segment != nullptr) {
      if (shared.box[number % 4] < 0) {
        load_wide<D>(*tile.segment, tile.slot, shared.page[number % 4], of_values, tiles[to]);
      } else if (walks) {
        const uint32_t full = shared_address(&shared.full[to]);
        barrier_expect(full, F::kTileBytes);
#pragma unroll 1
        for (int h = 0; h < D / 64; ++h) {
          copy_box(tiles[to] + h * kColumnBytes, &pages.map, 64 * h, of_values ? kPageRows : 0,
                   shared.box[number % 4], full);
        }
      }
      if (!of_values && thread < kWideKeys) {
        shared.offsets[number % 2][thread] =
            key_offset(*tile.segment, tile.slot + thread, unit.row_position);
      }
    }
    commit_copies();
  };
  const auto load_keys = [&](int number) { load(number, false, F::kLatent ? number % 2 : 0); };
  [[maybe_unused]] const auto load_values = [&](int number) { load(number, true, 1); };
  uint32_t phases = 0;  // bit n: phase of shared.full[n]
  const auto await = [&](int number, int to) {
    if (shared.box[number % 4] < 0) {
      wait_copies<F::kLatent ? 0 : 1>();
      return publish_to_engines();
    }
    barrier_wait(shared_address(&shared.full[to]), phases >> to & 1);
    phases ^= 1u << to;
  };
  WideRows rows;
#pragma unroll
  for (float& x : rows.o) x = 0;
  const float* loaded = nullptr;
  load_keys(0);
  if constexpr (!F::kLatent) load_values(0);
  for (int i = 0; shared.info[i % 4].segment != nullptr; ++i) {
    const TileInfo info = shared.info[i % 4];
    const int32_t* const offsets = shared.offsets[i % 2];
    const uint32_t keys = tiles[F::kLatent ? i % 2 : 0], values = tiles[F::kLatent ? i % 2 : 1];
    if (info.queries != loaded) {
      if (i > 0) __syncthreads();  // barrier: the previous form has been multiplied
      loaded = info.queries;
      load_wide_queries<D>(a, loaded, unit, queries);
      publish_to_engines();
    }
    await(i, F::kLatent ? i % 2 : 0);
    __syncthreads();  // barrier: the keys have arrived, and the previous tile has been multiplied
    if constexpr (F::kLatent) load_keys(i + 1);
    if (walks) shared.advance(i + 2, pages);
    if (info.rotate) {
      // The values of latent rows lie behind the numbers that rotate.
      rotate_wide(a.rotations, keys, offsets, unit.row_position);
      publish_to_engines();
      __syncthreads();
    }
    __syncwarp();  // one thread has walked
    rows.multiply_keys<D>(queries, keys + group * kOwnKeys * 128);
    wgmma_wait<0>();
    const bool all = sees_all(info, offsets, unit.row_count - 1);
    bend_logits(rows.s, a.logits.bend);  // before the mask, whose -infinity it would bend too
    if (!all) rows.mask(info, offsets + group * kOwnKeys, flat, unit.head_count);
    rows.tell_tops(shared.tops[group], flat);
    __syncthreads();  // barrier: the keys have been multiplied and the largest logits written
    if constexpr (!F::kLatent) load_keys(i + 1);
    rows.soften(a.logits.scale, shared.tops, flat, group, weights);
    if constexpr (!F::kLatent) await(i, 1);
    __syncthreads();  // barrier: the weights are written, and the values have arrived
    rows.load_weights(weights);
    rows.multiply_values(values + (F::kSkipped + group * kWarpgroupColumns) / 64 * kColumnBytes);
    wgmma_wait<0>();
    if constexpr (!F::kLatent) {
      __syncthreads();  // barrier: the values have been multiplied
      load_values(i + 1);
    }
  }
  wait_copies<0>();
  __syncthreads();  // barrier: the largest logits have been read
  rows.add_sums(shared.tops, flat, group);
  rows.write<D>(a, unit, flat, group);
#endif
}

template <int D>
void launch_wide(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                 const UnitRecord* units, int count) {
  constexpr int kBytes = sizeof(WideShared<D>) + 1024;
  static_assert(kBytes <= 227 * 1024);
  const auto kernel = attend_wide<D>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of attend_wide");
  launch_early(stream, "attend_wide", kernel, static_cast<unsigned>(count), kWideThreads, kBytes,
               args, pages, units);
}

}  // namespace

void launch_attend_wide(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                        const UnitRecord* units, int count, int head_dim) {
  LH_ASSERT(head_dim == 512 || head_dim == 576);
  (head_dim == 512 ? launch_wide<512> : launch_wide<576>)(stream, args, pages, units, count);
}

}  // namespace longhaul::cuda
