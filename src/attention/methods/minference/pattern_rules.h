#pragma once
// Finds the keys that the tiles of a prompt's rows see, according to the patterns of their query
// heads (MInference, arXiv:2407.02490). A pattern specifies how many columns, diagonals or blocks
// are selected. Those with the highest estimated attention are selected.

#include <span>
#include <vector>

#include "attention/methods/minference/head_pattern.h"
#include "ops/choose/mean_blocks.h"
#include "ops/choose/tile_lists.h"
#include "ops/maps/last_rows.h"
#include "ops/maps/mean_keys.h"

namespace longhaul {

/// The rows of a layer whose attention is computed with patterns.
struct PatternedRows {
  AttendCall call;  ///< has one query array, which is rotated
  TileGrid grid;
  int64_t first = 0;                 ///< number of first rows that see all earlier keys
  std::span<const PagedRows> lists;  ///< per KV head; row i is token i
  /// One flag per KV head: nonzero if its attention is computed; empty: all are.
  std::span<const uint8_t> only;
  /// Tasks of the last rows over all keys. LastRows::look() uses them to score columns and
  /// diagonals.
  std::span<const AttendTask> last;
  /// [heads, grid.tiles(), grid.blocks()]: memory for the marks of visible blocks.
  View<uint8_t> marks;
};

class PatternRules {
 public:
  /// Writes the rule of every query head whose KV head is selected by `only`. The rules refer to
  /// memory of this object and are valid until the next call.
  void choose(const PatternedRows& rows, std::span<const HeadPattern> heads,
              std::span<TileRule> rules);

 private:
  /// Returns the rule of the head, and queues the selections that the rule requires.
  TileRule rule_of(const PatternedRows& rows, const HeadPattern& pattern, int head);

  LastRows last_;
  KeyMeans means_;
  std::vector<LineChoice> lines_;  ///< [heads], for kVerticalSlash
  std::vector<LineTask> line_tasks_;
  std::vector<MeanBlocks> block_tasks_;
  MeanBlockMemory blocks_;
};

}  // namespace longhaul
