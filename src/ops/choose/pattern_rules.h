#pragma once
// What the tiles of a prompt's rows see by the patterns of their query heads (MInference,
// arXiv:2407.02490). A pattern says how many columns, diagonals or blocks; which ones, is found in
// the rows themselves.

#include <span>
#include <vector>

#include "ops/choose/head_pattern.h"
#include "ops/choose/mean_blocks.h"
#include "ops/choose/tile_lists.h"
#include "ops/maps/last_rows.h"
#include "ops/maps/mean_keys.h"

namespace longhaul {

/// Rows of a layer that are read by patterns.
struct PatternedRows {
  AttendCall call;  ///< its only form of the queries is rotated
  TileGrid grid;
  int64_t first = 0;                 ///< rows before it see everything
  std::span<const PagedRows> lists;  ///< per KV head; row i is token i
  std::span<const uint8_t> only;     ///< KV heads that attend; empty: all
  /// The last rows, by which columns and diagonals are scored, over all keys (LastRows::look).
  std::span<const AttendTask> last;
  View<uint8_t> marks;  ///< [heads, grid.tiles(), grid.blocks()]: room for what heads see of blocks
};

class PatternRules {
 public:
  /// Writes the rule of every query head whose KV head attends. Rules name what is kept here, until
  /// the next call.
  void choose(const PatternedRows& rows, std::span<const HeadPattern> heads,
              std::span<TileRule> rules);

 private:
  /// The head's rule, and what must be found for it.
  TileRule rule_of(const PatternedRows& rows, const HeadPattern& pattern, int head);

  LastRows last_;
  KeyMeans means_;
  std::vector<LineChoice> lines_;  ///< [heads], of kVerticalSlash
  std::vector<LineTask> line_tasks_;
  std::vector<MeanBlocks> block_tasks_;
  MeanBlockMemory blocks_;
};

}  // namespace longhaul
