#pragma once
// Selects the keys that each tile of query rows sees, according to the sparse pattern of each query
// head (MInference, arXiv:2407.02490). A tile is a group of adjacent rows. A pattern specifies how
// many columns, diagonals or blocks of keys a head selects (head_pattern.h). PatternRules selects
// those with the highest estimated attention.

#include <span>
#include <vector>

#include "attention/methods/minference/head_pattern.h"
#include "ops/choose/mean_blocks.h"
#include "ops/choose/tile_lists.h"
#include "ops/maps/last_rows.h"
#include "ops/maps/mean_keys.h"

namespace longhaul {

/// The query rows of a layer whose attention is computed with patterns.
struct PatternedRows {
  AttendCall call;  ///< has one query array, rotated by RoPE
  TileGrid grid;
  int64_t first = 0;  ///< number of first rows that see all earlier keys and need no rule
  std::span<const PagedRows> lists;  ///< stored rows per KV head; row i is token i
  /// One flag per KV head: nonzero if its attention is computed; empty: all are.
  std::span<const uint8_t> only;
  /// Attention tasks of the last rows over all keys. LastRows::look() computes the attention per
  /// column and per diagonal from them.
  std::span<const AttendTask> last;
  /// [heads, grid.tiles(), grid.blocks()]: memory for the marks of the blocks that tiles see.
  View<uint8_t> marks;
};

class PatternRules {
 public:
  /// Sets rules[h] for every query head h whose KV head `only` selects. heads[h] is its pattern.
  /// The rules refer to memory of this object and are valid until the next call.
  void choose(const PatternedRows& rows, std::span<const HeadPattern> heads,
              std::span<TileRule> rules);

 private:
  /// Returns the rule of a head, and adds the selections that the rule requires to line_tasks_ or
  /// block_tasks_.
  TileRule rule_of(const PatternedRows& rows, const HeadPattern& pattern, int head);

  LastRows last_;
  KeyMeans means_;
  std::vector<LineChoice> lines_;  ///< [heads], for kVerticalSlash
  std::vector<LineTask> line_tasks_;
  std::vector<MeanBlocks> block_tasks_;
  MeanBlockMemory blocks_;
};

}  // namespace longhaul
