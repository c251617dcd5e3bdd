#pragma once
// FlexPrefill's choice of key blocks (arXiv:2502.20766). A query head whose columns can be told
// from mean vectors (their Jensen-Shannon distance is small) takes pairs of a tile and a block by
// the product of their means, the best of all its tiles, until they hold a share of the attention.
// The others take columns and diagonals of the last rows' attention until these hold that share.
// Blocks are as long as tiles.

#include <span>
#include <vector>

#include "ops/choose/mean_blocks.h"

namespace longhaul {

struct FlexRule {
  double mass = 0;      ///< share of the attention; infinite: all of it, however sums are rounded
  double distance = 0;  ///< below it a head takes pairs
  int64_t least = 0;    ///< blocks of columns, and of diagonals, that a head takes at least
  float scale = 0;      ///< of the logits
  int last_rows = 0;    ///< of the grid, whose attention the lines are
};

/// A query head; the lines are [keys] each, sums over the last rows (ops/maps/line_sums.h).
struct FlexHead {
  int head = 0;
  View<const float> columns, diagonals;
  View<const float>
      means;           ///< [grid.blocks(), head_dim]: of the KV head's keys (ops/maps/mean_keys.h)
  View<uint8_t> seen;  ///< [grid.tiles(), grid.blocks()]: 1 where a tile sees a block
};

/// Memory of such a choice, of every thread; reused from call to call.
struct FlexMemory {
  struct Worker {
    Array<float> columns, diagonals;  ///< [keys]
    Array<float> column_bins, diagonal_bins, coarse;
    Array<float> query, pairs, sorted;
    RowSelection selection;
  };
  std::vector<Worker> workers;

  /// What it holds of lines over `keys` keys, which is most of it.
  static size_t bytes_for(int64_t keys);
};

/// Writes `seen` of every head.
void choose_flex_blocks(Queue& queue, const TiledRows& rows, const FlexRule& rule,
                        std::span<const FlexHead> heads, FlexMemory& memory);

}  // namespace longhaul
