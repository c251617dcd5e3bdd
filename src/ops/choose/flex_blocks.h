#pragma once
// Selects key blocks as FlexPrefill does (arXiv:2502.20766). For some query heads, mean vectors
// predict the attention to the columns well (the Jensen-Shannon distance is small). Such a head
// selects pairs of a tile and a block by the product of their means, from the best pair of all its
// tiles on, until the pairs hold a share of the attention. Other heads select columns and diagonals
// of the last rows' attention until these hold the share. Blocks are as long as tiles.

#include <span>
#include <vector>

#include "ops/choose/mean_blocks.h"

namespace longhaul {

struct FlexRule {
  double mass = 0;      ///< share of the attention; infinity takes all of it despite rounding
  double distance = 0;  ///< a head below it takes pairs
  int64_t least = 0;    ///< least number of blocks of columns, and of diagonals, per head
  float scale = 0;      ///< factor of the logits
  int last_rows = 0;    ///< last rows of the grid, from whose attention the lines are summed
};

/// A query head. The lines are [keys] each, sums over the last rows (ops/maps/line_sums.h).
struct FlexHead {
  int head = 0;
  View<const float> columns, diagonals;
  /// [grid.blocks(), head_dim]: means of the KV head's keys (ops/maps/mean_keys.h)
  View<const float> means;
  View<uint8_t> seen;  ///< [grid.tiles(), grid.blocks()]: 1 if a tile sees a block
};

/// Memory of the selection for every thread, reused from call to call.
struct FlexMemory {
  struct Worker {
    Array<float> columns, diagonals;  ///< [keys]
    Array<float> column_bins, diagonal_bins, coarse;
    Array<float> query, pairs, sorted;
    RowSelection selection;
  };
  std::vector<Worker> workers;

  /// Returns the bytes of lines over `keys` keys, which are the largest part of this memory.
  static size_t bytes_for(int64_t keys);
};

/// Writes `seen` of every head.
void choose_flex_blocks(Queue& queue, const TiledRows& rows, const FlexRule& rule,
                        std::span<const FlexHead> heads, FlexMemory& memory);
inline const DeviceOperation<bool(const TiledRows&, const FlexRule&, std::span<const FlexHead>)>
    kChooseFlexBlocks;

}  // namespace longhaul
