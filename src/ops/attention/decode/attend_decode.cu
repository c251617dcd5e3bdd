// Attention of few rows (decode): up to 8 flat rows (queries of one head of one query row) against
// a range of the keys. Each warp loads 16 keys at a time into its own shared memory, several tiles
// ahead. Warps wait for each other only at the end, when their sums are added in order. If a unit's
// keys are split, the part that arrives last adds all parts in order.

#include <algorithm>
#include <type_traits>

#include "ops/attention/decode/block_products.cuh"
#include "ops/attention/decode/decode_merge.cuh"
#include "ops/attention/decode/decode_rows.cuh"
#include "ops/attention/decode/decode_tiles.cuh"
#include "ops/attention/decode/rope_on_read.cuh"
#include "ops/attention/row_place.cuh"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/early_launch.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kMostStages = 6;
constexpr int kKeys = kDecodeKeys;

/// On the smallest card, two stages fit for each of so many warps. Stored blocks need less memory
/// and more instructions. Twice as many warps hide the waits, with 128 registers per thread.
template <int D, DecodeForm F>
inline constexpr int kWarps = (D > 128 ? 2 : 4) * (F == DecodeForm::kBlocks ? 2 : 1);

/// Sums of one warp after all its tiles. They overwrite the tiles' memory.
template <int D>
struct DecodeSums {
  float o[kDecodeUnitRows][D];
  float top[kDecodeUnitRows], sum[kDecodeUnitRows];
};

/// Loads the walk's next tile. Returns false if there is none.
template <int D, DecodeForm F>
__device__ __forceinline__ bool load_stage(const AttendArgs& a, TileWalk& walk,
                                           int64_t row_position, const DecodeTiles<D, F>& tiles,
                                           int keys, int to) {
  const int lane = threadIdx.x % 32;
  const bool more = walk.next();
  if (more) {
    const SegmentRecord& s = walk.segment();
    const int32_t slot = walk.tile() * keys;
    auto& stage = tiles.header(to);
    [[maybe_unused]] int32_t rotate;
    if constexpr (turns(F)) {
      rotate = tiles.load(a.rotations, s, slot, to);
    } else {
      tiles.load(s, slot, to);
    }
    if (lane < keys) stage.offsets[lane] = key_offset(s, slot + lane, row_position);
    if (lane == 0) {
      stage.info = {&s, s.queries, slot, s.nearest, s.furthest, s.rotate};
      if constexpr (turns(F)) stage.info.rotate = rotate;
    }
    walk.skip(kWarps<D, F> - 1);
  }
  commit_copies();
  return more;
}

template <int D, DecodeForm F>
using RowsOf =
    std::conditional_t<turns(F), RopeOnReadRows<D>, DecodeRows<D, F == DecodeForm::kBlocks>>;

/// Computes the products of a tile whose queries rotate back (rope_on_read.cuh). Returns false for
/// other tiles.
template <int D, DecodeForm F>
__device__ __forceinline__ bool multiply_turned(const DecodeTiles<D, F>& tiles, int at,
                                                uint32_t keys, uint32_t steps, RowsOf<D, F>& rows,
                                                float (&c)[4]) {
  if constexpr (turns(F)) {
    if (tiles.header(at).info.rotate == kTurns) {
      rows.turn_queries(tiles.turn(at));
      rows.multiply_turned(keys, steps, c);
      return true;
    }
    rows.keep_queries();
  }
  return false;
}

template <int D, DecodeForm F>
__device__ __forceinline__ void add_stage(const AttendArgs& a, const UnitRecord& unit,
                                          const DecodeTiles<D, F>& tiles, int keys, int at,
                                          uint32_t steps, RowsOf<D, F>& rows) {
  const int lane = threadIdx.x % 32;
  const auto& stage = tiles.header(at);
  const TileInfo& info = stage.info;
  const bool mixed = tiles.mixed(at);
  if (info.queries != rows.queries || mixed != rows.mixed) {
    if (mixed) {
      rows.load_hadamard_queries(info.queries, unit, a.heads, tiles.spare());
    } else {
      rows.load_queries(info.queries, unit, a.heads);
    }
  }
  const int32_t near = stage.offsets[keys - 1], far = stage.offsets[0];
  const bool all = near != kNoKey && far != kNoKey && -near >= info.nearest &&
                   unit.row_count - 1 - far < info.furthest;
  float c[4];
  if constexpr (F == DecodeForm::kBlocks) {
#pragma unroll 1
    for (int first = 0; first < keys; first += kKeys) {
      const int32_t* const offsets = stage.offsets + first;
      with_block_type(stage.keys.type, [&](auto type) {
        constexpr PageType kType = decltype(type)::value;
        multiply_keys<kType>(rows, tiles.keys(at) + first * (D / 32 * kBlockBytes<kType>), c);
      });
      rows.weigh(c, offsets, info, unit.head_count, !all, a.logits);
      with_block_type(stage.values.type, [&](auto type) {
        constexpr PageType kType = decltype(type)::value;
        const uint32_t values = tiles.values(at) + first * (D / 32 * kBlockBytes<kType>);
        if (!all) clear_absent<kType, D>(values, offsets);
        add_values<kType>(rows, values, c);
      });
    }
  } else {
    const DecodeTile<D>& tile = tiles.tile(at);
    const uint32_t bf16 = shared_address(tile.keys);
    if (!multiply_turned<D, F>(tiles, at, bf16, steps, rows, c)) {
      if (info.rotate) {
        constexpr int kAtOnce = turns(F) ? 1 : 4;  // few tiles, and too few registers for more
        rotate_tile<D, kKeys, 32, kAtOnce>(a.rotations, bf16, stage.offsets, unit.row_position,
                                           lane);
        __syncwarp();
      }
      rows.multiply_keys(bf16, c);
    }
    rows.weigh(c, stage.offsets, info, unit.head_count, !all, a.logits);
    rows.add_values(shared_address(tile.values), c);
  }
}

/// Adds the warps' sums and writes the unit's rows.
template <int D, int kWarps>
__device__ __forceinline__ void write_rows(const AttendArgs& a, const UnitRecord& unit,
                                           const DecodeSums<D>* sums) {
  constexpr int kThreads = 32 * kWarps;
  const int flat_rows = unit.row_count * unit.head_count;
  for (int i = threadIdx.x; i < flat_rows * (D / 4); i += kThreads) {
    const int f = i / (D / 4), t = i % (D / 4) * 4;
    float top = -INFINITY;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) top = fmaxf(top, sums[w].top[f]);
    float sum = 0;
    float4 o = {0, 0, 0, 0};
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float weight = top == -INFINITY ? 0.0f : exp2_of(sums[w].top[f] - top);
      const float4 x = *reinterpret_cast<const float4*>(&sums[w].o[f][t]);
      sum += weight * sums[w].sum[f];
      o.x += weight * x.x, o.y += weight * x.y, o.z += weight * x.z, o.w += weight * x.w;
    }
    const RowPlace to = place_of(a, unit, f, D);
    const float factor = end_row(to, top, sum);
    *reinterpret_cast<float4*>(to.sums + t) = {o.x * factor, o.y * factor, o.z * factor,
                                               o.w * factor};
    if (t == 0) write_denominator(to, top, sum);
  }
}

/// Writes a warp's sums to shared memory, where all warps can add them.
template <int D, bool kByQuarters>
__device__ __forceinline__ void write_sums(const DecodeRows<D, kByQuarters>& rows, float scale,
                                           DecodeSums<D>& sums) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int f = 2 * (lane % 4) + r;
#pragma unroll
    for (int d = 0; d < D / 16; ++d) {
      sums.o[f][rows.number_of_sum(d, r)] = rows.o[d][r];
      sums.o[f][rows.number_of_sum(d, r + 2)] = rows.o[d][r + 2];
    }
    if (lane < 4) {
      sums.top[f] = rows.top[r] * scale;
      sums.sum[f] = rows.sum[r];
    }
  }
}

template <int D, DecodeForm F>
__global__ void __launch_bounds__(32 * kWarps<D, F>, 2)
    attend_decode(const __grid_constant__ AttendArgs a, const __grid_constant__ DecodePlan plan,
                  int stages, int tiles_of_stage) {
  extern __shared__ uint4 memory[];
  if (plan.packed != nullptr) wait_for_earlier_kernels();
  const std::byte* const begin = plan.packed != nullptr ? plan.packed : plan.here;
  const auto* const units = reinterpret_cast<const UnitRecord*>(begin + plan.units);
  const UnitRecord unit = part_of_block(units, plan.count, static_cast<int>(blockIdx.x), D);
  const int warp = threadIdx.x / 32;
  using Tiles = DecodeTiles<D, F>;
  const int ring_bytes = Tiles::kFixedBytes + stages * Tiles::stage_bytes(plan, tiles_of_stage);
  constexpr int kSteps = turns(F) ? kStepBytes<D> : 0;  // bytes of shared memory before the rings
  const Tiles tiles(reinterpret_cast<std::byte*>(memory) + kSteps + warp * ring_bytes, plan,
                    tiles_of_stage);
  const int keys = F == DecodeForm::kBlocks ? tiles_of_stage * kKeys : kKeys;
  await_turn();
  TileWalk walk(reinterpret_cast<const SegmentRecord*>(begin), unit, keys);
  walk.skip(warp);
  int loaded = 0;
  for (int i = 0; i < stages - 1; ++i) {
    loaded += load_stage(a, walk, unit.row_position, tiles, keys, i);
  }
  const uint32_t steps = shared_address(memory);
  if constexpr (turns(F)) {
    int64_t position;
    if (first_turned(reinterpret_cast<const SegmentRecord*>(begin), unit, position)) {
      write_steps<D, 32 * kWarps<D, F>>(a.rotations, position, steps);
    }
    __syncthreads();
  }
  RowsOf<D, F> rows;
  int at = 0, free = stages - 1;
  for (int i = 0; i < loaded; ++i) {
    wait_for_stage(stages);
    __syncwarp();  // tile i has arrived, and no lane reads the previous one any more
    loaded += load_stage(a, walk, unit.row_position, tiles, keys, free);
    add_stage(a, unit, tiles, keys, at, steps, rows);
    free = at;
    at = at + 1 == stages ? 0 : at + 1;
  }
  wait_copies<0>();
  rows.finish();
  __syncthreads();
  auto* const sums = reinterpret_cast<DecodeSums<D>*>(memory);
  write_sums(rows, a.logits.scale, sums[warp]);
  __syncthreads();
  write_rows<D, kWarps<D, F>>(a, unit, sums);
  if (unit.counter >= 0 && arrives_last(a, unit)) {
    merge_parts<D, kWarps<D, F>>(a, unit, reinterpret_cast<float*>(memory));
  }
}

/// Returns false if the card has no memory for two stages.
template <int D, DecodeForm F>
bool launch_as(CUstream_st* stream, const AttendArgs& args, const DecodePlan& plan, int blocks,
               const DeviceLimits& limits) {
  using Tiles = DecodeTiles<D, F>;
  // Uses two thread blocks per processor if each then has two stages. Each block costs 1 KiB extra.
  constexpr int kSteps = turns(F) ? kStepBytes<D> : 0;
  constexpr int kFixed = kWarps<D, F> * Tiles::kFixedBytes + kSteps;
  const int share = limits.shared_per_processor / 2 - 1024 - kFixed;
  const auto bytes_with = [&](int tiles) { return kWarps<D, F> * Tiles::stage_bytes(plan, tiles); };
  const bool wide = F == DecodeForm::kBlocks && share / bytes_with(kMostDecodeTiles) >= 2;
  const int tiles = wide ? kMostDecodeTiles : 1, stage = bytes_with(tiles);
  int stages = share / stage;
  if (stages < 2) stages = (limits.shared_per_block - kFixed) / stage;
  if (stages < 2) return false;
  stages = stages > kMostStages ? kMostStages : stages;
  // At the end the memory holds the warps' sums, or the merge: at least one part, and weights.
  constexpr int kSums = kWarps<D, F> * static_cast<int>(sizeof(DecodeSums<D>));
  constexpr int kMerged =
      (2 * kMostMerged + kDecodeUnitRows * (D + 4)) * static_cast<int>(sizeof(float));
  const int bytes = std::max({stages * stage + kFixed, kSums, kMerged});
  const auto kernel = attend_decode<D, F>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "shared memory of attend_few");
  launch_early(stream, "attend_few", kernel, static_cast<unsigned>(blocks), 32 * kWarps<D, F>,
               static_cast<size_t>(bytes), args, plan, stages, tiles);
  return true;
}

template <int D>
void launch(CUstream_st* stream, const AttendArgs& args, const DecodePlan& plan, int blocks,
            const DeviceLimits& limits) {
  if constexpr (D % 64 == 0) {  // block_products.cuh reads rows that begin at a word
    if (plan.blocks && launch_as<D, DecodeForm::kBlocks>(stream, args, plan, blocks, limits))
      return;
  }
  const bool stored = plan.key_bytes > 0;
  if constexpr (D <= 128) {  // wider heads leave no registers for unrounded queries
    if (plan.turns && 2 * args.rotations.half == D && args.rotations.in_eights) {
      if (stored && launch_as<D, DecodeForm::kStoredRopeOnRead>(stream, args, plan, blocks, limits))
        return;
      if (!stored && launch_as<D, DecodeForm::kTurned>(stream, args, plan, blocks, limits)) return;
    }
  }
  if (stored && launch_as<D, DecodeForm::kStored>(stream, args, plan, blocks, limits)) return;
  launch_as<D, DecodeForm::kPlain>(stream, args, plan, blocks, limits);
}

}  // namespace

void launch_attend_decode(CUstream_st* stream, const AttendArgs& args, const DecodePlan& plan,
                          int blocks, const DeviceLimits& limits) {
  with_head_dim(args.head_dim,
                [&](auto dim) { launch<dim()>(stream, args, plan, blocks, limits); });
}

}  // namespace longhaul::cuda
