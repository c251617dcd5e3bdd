#pragma once
// Computes top_keys() for few rows over bf16 keys. A thread block has sixteen flat rows. A flat row
// is the query of one head of one query row. Each warp reads its own tiles of keys, and loads keys
// several steps before it multiplies them.

#include "ops/maps/top_rows.cuh"

namespace longhaul::cuda {

inline constexpr int kDecodeFlatRows = 16;
inline constexpr int kDecodeWarps = 2, kDecodeStep = 16;
/// Number of steps that a warp has in shared memory. For wide heads, the shared memory of the
/// smallest cards limits it.
template <int D>
inline constexpr int kDecodeStages = D > 128 ? 4 : 8;

/// Addresses of keys lane, lane + 32, and so on of a tile. They are looked up together, because a
/// single look-up takes as long as loading the keys.
struct TileRows {
  const std::byte* own[kTopTile / 32];

  __device__ __forceinline__ void look_up(const ScoreJob& job, int32_t first, int row_bytes) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kTopTile / 32; ++i) {
      const int32_t key = first + 32 * i + lane;
      own[i] = key_row(job.keys, job.page_shift, row_bytes, key < job.keys.count ? key : first);
    }
  }
  /// Returns the address of key n in step `step` of the tile. All lanes must call it together.
  __device__ __forceinline__ const std::byte* row(int step, int n) const {
    static_assert(kTopTile == 4 * 32 && kDecodeStep == 16);
    // The address is selected by the bits of `step`. If it were indexed by a variable, the compiler
    // would put the addresses on a stack.
    const bool second = (step & 4) != 0;
    const std::byte* const even = second ? own[2] : own[0];
    const std::byte* const of_step = (step & 2) != 0 ? (second ? own[3] : own[1]) : even;
    const auto address = reinterpret_cast<unsigned long long>(of_step);
    return reinterpret_cast<const std::byte*>(
        __shfl_sync(~0u, address, step * kDecodeStep % 32 + n));
  }
};

/// Starts the loads of a step's keys into shared memory. One warp calls it.
template <int D>
__device__ __forceinline__ void bring_step(const ScoreJob& job, const TileRows& rows, int step,
                                           int32_t first, uint32_t to) {
  constexpr int kChunks = D / 8, kOwn = kDecodeStep * kChunks / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int n = (lane + 32 * i) / kChunks, chunk = (lane + 32 * i) % kChunks;
    const bool present = first + n < job.keys.count;
    copy_16(to + static_cast<uint32_t>(n * kPitch<D> + chunk * 16),
            rows.row(step, n) + (present ? chunk * 16 : 0), present);
  }
}

template <int D>
struct DecodeShared {
  uint4 keys[kDecodeWarps][kDecodeStages<D>][kDecodeStep * kPitch<D> / 16];
  ScoreJob job;
  int32_t index, list, part, tile;
};

/// Finds the best keys of 16 flat rows among the keys of one part. Each warp reads its own tiles.
template <int D, int K>
__global__ void __launch_bounds__(32 * kDecodeWarps, 2)
    top_keys_decode(const __grid_constant__ TopArgs a) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<DecodeShared<D>*>(memory);
  find_job(a.score, shared);
  const ScoreJob& job = shared.job;
  constexpr int kPerTile = kTopTile / kDecodeStep, kStages = kDecodeStages<D>;
  const int warp = threadIdx.x / 32;
  const int flat = shared.tile * kDecodeFlatRows;
  RowsAndBest<D, K> rows;
  rows.load(a, job, flat);
  TileStretch tiles = tiles_of(job, shared.part);
  tiles.begin += warp;
  const int steps = tiles.begin < tiles.end
                        ? (tiles.end - tiles.begin + kDecodeWarps - 1) / kDecodeWarps * kPerTile
                        : 0;
  // Step i of this warp is step i % kPerTile of the warp's tile i / kPerTile.
  const auto first_of = [&](int i) {
    return (tiles.begin + i / kPerTile * kDecodeWarps) * kTopTile + i % kPerTile * kDecodeStep;
  };
  TileRows tile_rows;
  const auto bring = [&](int i) {
    if (i % kPerTile == 0) tile_rows.look_up(job, first_of(i), 2 * D);
    bring_step<D>(job, tile_rows, i % kPerTile, first_of(i),
                  shared_address(shared.keys[warp][i % kStages]));
  };
#pragma unroll 1
  for (int i = 0; i < kStages - 1; ++i) {
    if (i < steps) bring(i);
    commit_copies();
  }
  for (int i = 0; i < steps; ++i) {
    wait_copies<kStages - 2>();
    __syncwarp();  // step i has arrived, and no lane reads the previous one any more
    if (i + kStages - 1 < steps) bring(i + kStages - 1);
    commit_copies();
    rows.add_keys(shared_address(shared.keys[warp][i % kStages]), first_of(i), job.keys.count,
                  a.of_tiles);
    if (a.of_tiles && (i + 1) % kPerTile == 0) rows.end_tile();
  }
  wait_copies<0>();
  rows.write(a, job, flat, shared.part * kDecodeWarps + warp, job.parts * kDecodeWarps);
}

}  // namespace longhaul::cuda
