#pragma once
// Splits the shared memory of a multiprocessor among warps, for the search of the best keys of
// decode rows over keys that are not bf16 (top_keys_stored.cu). This is host code without CUDA.

#include <algorithm>
#include <cstddef>

#include "ops/maps/score_plan.h"

namespace longhaul::cuda {

/// Number of flat rows per thread block. A flat row is the query of one head of one query row.
/// kBlockFlatRows is for keys in block formats, which are multiplied as stored. kExpandedFlatRows
/// is for keys that are first converted to bf16.
inline constexpr int kBlockFlatRows = kDecodeUnitRows, kExpandedFlatRows = 16;

constexpr int stored_warps(int head_dim, int flat_rows) {
  return flat_rows == kExpandedFlatRows && head_dim > 128 ? 2 : 4;
}
/// Returns the size in bytes of the memory that a warp needs in addition to its ring of loads. It
/// holds 16 keys as bf16, or eight Hadamard-rotated queries.
constexpr int stored_own_bytes(int head_dim, int flat_rows) {
  return flat_rows * (2 * head_dim + 16);
}

/// The beginning of a thread block's shared memory.
struct alignas(16) JobOfBlock {
  ScoreJob job;
  int32_t index, list, part, tile;
};

/// The division of a warp's shared memory.
struct StoredShape {
  int32_t own_bytes;
  int32_t stage_bytes;  ///< bytes for 16 keys, and 16 more, because the first key may begin between
                        ///< two 16-byte pieces
  int32_t stages;       ///< number of stages in the warp's ring
};

/// Returns the largest number of thread blocks per multiprocessor. With four, each thread has 128
/// registers. Wide heads need more registers, and so do long lists of best keys for sixteen rows.
constexpr int most_stored_blocks(int head_dim, int flat_rows, int k) {
  return head_dim > 128 || (flat_rows == kExpandedFlatRows && k > 4) ? 3 : 4;
}

/// Chooses the largest number of thread blocks per multiprocessor for which each warp has three
/// stages.
struct StoredFit {
  int flat_rows, warps, blocks, block_bytes;
  StoredShape shape;

  /// `k` is the number of best keys per row. `mixed` is true if some keys in block formats are
  /// Hadamard-rotated. `key_bytes` is the largest size of a stored key in bytes.
  StoredFit(int head_dim, int rows, int k, bool mixed, int key_bytes, int shared_per_processor)
      : flat_rows(rows),
        warps(stored_warps(head_dim, rows)),
        blocks(most_stored_blocks(head_dim, rows, k)) {
    constexpr int kMostStages = 6, kOfSmallestCard = 99 << 10, kOfSystem = 1 << 10;
    constexpr int kHead = sizeof(JobOfBlock);
    const bool owns = mixed || rows == kExpandedFlatRows;
    shape.own_bytes = owns ? stored_own_bytes(head_dim, rows) : 0;
    shape.stage_bytes = kDecodeKeys * key_bytes + 16;
    const auto stages_with = [&](int some) {
      const int share = std::min(shared_per_processor / some - kOfSystem, kOfSmallestCard);
      const int of_ring = (share - kHead) / warps - shape.own_bytes;
      return std::min(kMostStages, of_ring / shape.stage_bytes);
    };
    // Reduces the number of thread blocks until each warp has three stages, or as many as it would
    // have with one thread block.
    while (blocks > 1 && stages_with(blocks) < std::min(3, stages_with(1))) --blocks;
    shape.stages = stages_with(blocks);
    block_bytes = kHead + warps * (shape.own_bytes + shape.stages * shape.stage_bytes);
  }
};

}  // namespace longhaul::cuda
