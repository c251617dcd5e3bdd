// Prefill attention on any card from sm_80 on, for pages of any type, stretches and lists, with or
// without RoPE on read. A thread block computes 128 flat rows (queries of one head of one query
// row), 16 per warp. While it multiplies one tile of keys, the next is loaded.

#include <new>

#include "ops/attention/row_place.cuh"
#include "ops/attention/sm80/row_block.cuh"
#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 2 * kTileUnitRows;

template <int D, int N>
struct TileShared {
  uint4 keys[2][N * kPitch<D> / 16];
  uint4 values[2][N * kPitch<D> / 16];
  uint4 queries[RowBlock<D, N>::kSharedBytes / 16 * (kThreads / 32) + 1];
  int32_t offsets[2][N];
  TileInfo info[4];  ///< tile i is in info[i % 4]
  UnitRecord unit;
  alignas(TileWalk) std::byte walk[sizeof(TileWalk)];  ///< used by the first thread
};

template <int D, int N>
__device__ __forceinline__ void load_stage(TileShared<D, N>& shared, int stage,
                                           const TileInfo& tile) {
  const SegmentRecord& s = *tile.segment;
  const int thread = static_cast<int>(threadIdx.x);
  load_tile<D, N, kThreads>(s, tile.slot, shared_address(shared.keys[stage]),
                            shared_address(shared.values[stage]), thread);
  commit_copies();
  if (thread < N) {
    shared.offsets[stage][thread] = key_offset(s, tile.slot + thread, shared.unit.row_position);
  }
}

/// Whether rows [first, last] see some, or all, of a tile's keys. The ends decide: offsets ascend,
/// and slots without keys are at the ends.
struct Seen {
  bool some, all;
};
template <int N>
__device__ __forceinline__ Seen seen(const TileInfo& info, const int32_t* offsets, int first,
                                     int last) {
  const int32_t near = offsets[N - 1], far = offsets[0];
  const bool whole = near != kNoKey && far != kNoKey;
  const bool before = far != kNoKey && last - far < info.nearest;
  const bool after = near != kNoKey && first - near >= info.furthest;
  return {!before && !after, whole && first - near >= info.nearest && last - far < info.furthest};
}

template <int D, int N>
__global__ void __launch_bounds__(kThreads, D <= 64 ? 2 : 1)
    attend_tile(const __grid_constant__ AttendArgs a, const UnitRecord* units) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<TileShared<D, N>*>(memory);
  const UnitRecord& unit = shared.unit;
  const int lane = threadIdx.x % 32, thread = static_cast<int>(threadIdx.x);
  auto& walk = *reinterpret_cast<TileWalk*>(shared.walk);
  if (thread == 0) {
    shared.unit = units[blockIdx.x];
    new (&walk) TileWalk(a.segments, shared.unit, N);
    shared.info[0] = next_tile<N>(walk);
    shared.info[1] = next_tile<N>(walk);
  }
  __syncthreads();
  const int flat = threadIdx.x / 32 * 16, flat_rows = unit.row_count * unit.head_count;
  const bool idle = flat >= flat_rows;

  RowBlock<D, N> rows(shared_address(shared.queries) +
                      static_cast<uint32_t>(threadIdx.x / 32 * RowBlock<D, N>::kSharedBytes));
  if (shared.info[0].segment != nullptr) load_stage(shared, 0, shared.info[0]);
  for (int i = 0; shared.info[i % 4].segment != nullptr; ++i) {
    wait_copies<0>();
    __syncthreads();  // barrier: tile i has arrived, and no warp reads the previous one any more
    const int stage = i % 2;
    const TileInfo& next = shared.info[(i + 1) % 4];
    if (next.segment != nullptr) load_stage(shared, stage ^ 1, next);
    if (thread == 0) shared.info[(i + 2) % 4] = next_tile<N>(walk);
    const TileInfo& info = shared.info[i % 4];
    const int32_t* offsets = shared.offsets[stage];
    const uint32_t keys = shared_address(shared.keys[stage]);
    if (info.rotate) {
      rotate_tile<D, N, kThreads>(a.rotations, keys, offsets, unit.row_position, thread);
      __syncthreads();
    }
    if (idle) continue;
    const int first_row = flat / unit.head_count;
    const int last_row = min(flat + 15, flat_rows - 1) / unit.head_count;
    const Seen sight = seen<N>(info, offsets, first_row, last_row);
    if (!sight.some) continue;
    if (info.queries != rows.queries) rows.load_queries(info.queries, unit, a.heads, flat);
    rows.add_tile(keys, shared_address(shared.values[stage]), offsets, info, flat, unit.head_count,
                  !sight.all, a.logits);
  }
  if (idle) return;
  rows.finish();
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int f = flat + lane / 4 + 8 * h;
    if (f >= flat_rows) continue;
    const RowPlace to = place_of(a, unit, f, D);
    float top = rows.top[h] * a.logits.scale, sum = rows.sum[h];
    const float factor = end_row(to, top, sum);
    float2* x = reinterpret_cast<float2*>(to.sums) + lane % 4;
#pragma unroll
    for (int d = 0; d < D / 8; ++d) {
      x[4 * d] = make_float2(rows.o[d][2 * h] * factor, rows.o[d][2 * h + 1] * factor);
    }
    if (lane % 4 == 0) write_denominator(to, top, sum);
  }
}

template <int D, int N>
void launch(CUstream_st* stream, const AttendArgs& args, const UnitRecord* units, int count) {
  constexpr int kBytes = sizeof(TileShared<D, N>);
  static_assert(kBytes <= 99 * 1024);  // shared memory of the smallest cards (sm_86, 89 and 120)
  const auto kernel = attend_tile<D, N>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of attend_tile");
  kernel<<<static_cast<unsigned>(count), kThreads, kBytes, stream>>>(args, units);
  check_launch("attend_tile");
}

}  // namespace

void launch_attend_tile(CUstream_st* stream, const AttendArgs& args, const UnitRecord* units,
                        int count, int head_dim) {
  with_head_dim(head_dim, [&](auto dim) {
    launch<dim(), dim() <= 128 ? 64 : 16>(stream, args, units, count);
  });
}

}  // namespace longhaul::cuda
