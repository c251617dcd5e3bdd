#pragma once
// How the search of few rows over keys that are not bf16 (top_keys_stored.cu) shares a processor's
// memory. Host code without CUDA.

#include <algorithm>
#include <cstddef>

#include "ops/maps/score_plan.h"

namespace longhaul::cuda {

/// Flat rows of a block: of keys in blocks, which are multiplied as they are stored, and of those
/// that become bf16 first.
inline constexpr int kBlockFlatRows = kFewUnitRows, kExpandedFlatRows = 16;

constexpr int stored_warps(int head_dim, int flat_rows) {
  return flat_rows == kExpandedFlatRows && head_dim > 128 ? 2 : 4;
}
/// What a warp has beside its ring: 16 keys as bf16, or eight mixed queries.
constexpr int stored_own_bytes(int head_dim, int flat_rows) {
  return flat_rows * (2 * head_dim + 16);
}

/// At the beginning of a block's memory.
struct alignas(16) JobOfBlock {
  ScoreJob job;
  int32_t index, list, part, tile;
};

/// A warp's memory.
struct StoredShape {
  int32_t own_bytes;
  int32_t stage_bytes;  ///< room for 16 keys, of which the first may begin between two pieces
  int32_t stages;       ///< of its ring
};

/// On a processor at most: four have 128 registers a thread, too few for wide heads, or for long
/// lists of the best keys of sixteen rows.
constexpr int most_stored_blocks(int head_dim, int flat_rows, int k) {
  return head_dim > 128 || (flat_rows == kExpandedFlatRows && k > 4) ? 3 : 4;
}

/// As many blocks on a processor as leave each warp three stages.
struct StoredFit {
  int flat_rows, warps, blocks, block_bytes;
  StoredShape shape;

  /// For the best `k` keys; `mixed`: some keys in blocks are. `key_bytes`: of a row, at most.
  StoredFit(int head_dim, int rows, int k, bool mixed, int key_bytes, int shared_per_processor)
      : flat_rows(rows),
        warps(stored_warps(head_dim, rows)),
        blocks(most_stored_blocks(head_dim, rows, k)) {
    constexpr int kMostStages = 6, kOfSmallestCard = 99 << 10, kOfSystem = 1 << 10;
    constexpr int kHead = sizeof(JobOfBlock);
    const bool owns = mixed || rows == kExpandedFlatRows;
    shape.own_bytes = owns ? stored_own_bytes(head_dim, rows) : 0;
    shape.stage_bytes = kFewKeys * key_bytes + 16;
    const auto stages_with = [&](int some) {
      const int share = std::min(shared_per_processor / some - kOfSystem, kOfSmallestCard);
      const int of_ring = (share - kHead) / warps - shape.own_bytes;
      return std::min(kMostStages, of_ring / shape.stage_bytes);
    };
    // Fewer blocks where that leaves more stages, up to three.
    while (blocks > 1 && stages_with(blocks) < std::min(3, stages_with(1))) --blocks;
    shape.stages = stages_with(blocks);
    block_bytes = kHead + warps * (shape.own_bytes + shape.stages * shape.stage_bytes);
  }
};

}  // namespace longhaul::cuda
