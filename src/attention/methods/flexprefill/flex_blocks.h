#pragma once
// Selects key blocks as FlexPrefill does (arXiv:2502.20766). A tile is a group of adjacent query
// rows. A block has as many keys as a tile has rows. For some query heads, the attention between
// mean vectors is close to the attention to single keys, measured by the Jensen-Shannon distance.
// Such a head selects pairs of a tile and a block in the order of the dot product of their means.
// It selects the best pairs over all its tiles until they hold a given share of the attention.
// Other heads select columns (keys) and diagonals of the last rows' attention until these hold the
// share.

#include <span>
#include <vector>

#include "ops/choose/mean_blocks.h"

namespace longhaul {

struct FlexRule {
  double mass = 0;  ///< share of the attention; infinity selects everything regardless of rounding
  double distance = 0;  ///< heads with a smaller distance select pairs
  int64_t least = 0;    ///< minimum number of blocks for columns, and for diagonals, per head
  float scale = 0;      ///< factor of the logits
  /// Number of last rows of the grid whose attention is summed to columns and diagonals.
  int last_rows = 0;
};

/// A query head. `columns` and `diagonals` are [keys] each: sums of attention over the last rows
/// (ops/maps/line_sums.h).
struct FlexHead {
  int head = 0;
  View<const float> columns, diagonals;
  /// [grid.blocks(), head_dim]: mean keys of the KV head (ops/maps/mean_keys.h).
  View<const float> means;
  View<uint8_t> seen;  ///< [grid.tiles(), grid.blocks()]: 1 if a tile sees a block
};

/// Buffers of every thread, reused between calls.
struct FlexMemory {
  struct Worker {
    Array<float> columns, diagonals;  ///< [keys]
    Array<float> column_bins, diagonal_bins, coarse;
    Array<float> query, pairs, sorted;
    RowSelection selection;
  };
  std::vector<Worker> workers;

  /// Returns the bytes of columns and diagonals over `keys` keys, which are the largest part of the
  /// buffers.
  static size_t bytes_for(int64_t keys);
};

/// Selects blocks for every head and writes `seen` of the head.
void choose_flex_blocks(Queue& queue, const TiledRows& rows, const FlexRule& rule,
                        std::span<const FlexHead> heads, FlexMemory& memory);
inline const DeviceOperation<bool(const TiledRows&, const FlexRule&, std::span<const FlexHead>)>
    kChooseFlexBlocks;

}  // namespace longhaul
