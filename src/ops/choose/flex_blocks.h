#pragma once
// FlexPrefill's selection of key blocks (arXiv:2502.20766). A query head whose columns can be
// predicted from mean vectors (with a small Jensen-Shannon distance) takes pairs of a tile and a
// block by the product of their means. It takes the best pairs of all its tiles until they hold a
// share of the attention. The other heads take columns and diagonals of the last rows' attention
// until these hold that share. Blocks are as long as tiles.

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

  /// Bytes of lines over `keys` keys, the largest part of it.
  static size_t bytes_for(int64_t keys);
};

/// Writes `seen` of every head.
void choose_flex_blocks(Queue& queue, const TiledRows& rows, const FlexRule& rule,
                        std::span<const FlexHead> heads, FlexMemory& memory);

}  // namespace longhaul
