#pragma once
// Finds the keys that the tiles of a prompt's rows see according to the patterns of their query
// heads (MInference, arXiv:2407.02490). A pattern gives the numbers of columns, diagonals or
// blocks. The attention of the rows determines which columns, diagonals or blocks are selected.

#include <span>
#include <vector>

#include "ops/choose/head_pattern.h"
#include "ops/choose/mean_blocks.h"
#include "ops/choose/tile_lists.h"
#include "ops/maps/last_rows.h"
#include "ops/maps/mean_keys.h"

namespace longhaul {

/// Rows of a layer that are read with patterns.
struct PatternedRows {
  AttendCall call;  ///< its only form of the queries is rotated
  TileGrid grid;
  int64_t first = 0;                 ///< earlier rows see everything
  std::span<const PagedRows> lists;  ///< per KV head; row i is token i
  std::span<const uint8_t> only;     ///< attending KV heads; empty: all
  /// The last rows over all keys, for scoring columns and diagonals (LastRows::look).
  std::span<const AttendTask> last;
  View<uint8_t> marks;  ///< [heads, grid.tiles(), grid.blocks()]: memory for visible blocks
};

class PatternRules {
 public:
  /// Writes the rule of every query head whose KV head attends. Rules refer to memory of this
  /// object until the next call.
  void choose(const PatternedRows& rows, std::span<const HeadPattern> heads,
              std::span<TileRule> rules);

 private:
  /// Returns the head's rule and queues the selections that the rule needs.
  TileRule rule_of(const PatternedRows& rows, const HeadPattern& pattern, int head);

  LastRows last_;
  KeyMeans means_;
  std::vector<LineChoice> lines_;  ///< [heads], for kVerticalSlash
  std::vector<LineTask> line_tasks_;
  std::vector<MeanBlocks> block_tasks_;
  MeanBlockMemory blocks_;
};

}  // namespace longhaul
