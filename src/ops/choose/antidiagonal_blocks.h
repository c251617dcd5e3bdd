#pragma once
// XAttention's choice of key blocks (arXiv:2503.16428): blocks are scored by their antidiagonals. S
// queries, the last first, laid end to end against S keys laid end to end give the sum of S
// products on an antidiagonal; softmax over such groups of keys, summed over a block, is its score.
// Every tile of rows then takes blocks, the best first, until they hold a share of its scores.
// Blocks are as long as tiles.

#include <span>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/choose/select_rows.h"
#include "ops/choose/tile_grid.h"

namespace longhaul {

/// The most elements of S keys laid end to end.
inline constexpr int kMostGroupElements = 2048;
/// Rows whose scores exist at a time.
inline constexpr int64_t kAntidiagonalRows = 4096;

struct AntidiagonalRule {
  int stride = 8;   ///< S: divides a tile, and a page of the keys
  double norm = 1;  ///< divides the scores before their softmax
};

/// The query heads of a KV head.
struct AntidiagonalHeads {
  int head_begin = 0, head_count = 0;
  PagedRows keys;                  ///< row i is token i; all keys of the grid are there
  std::span<const double> shares;  ///< [head_count]: of its scores that a tile's blocks hold
  View<uint8_t> seen;  ///< [head_count, grid.tiles(), grid.blocks()]: 1 where a tile sees a block
};

/// What groups [first, end) of rows, counted from the context's first token, pay to blocks of keys.
struct GroupMasses {
  const TileGrid& grid;
  int per_block = 0;  ///< groups
  int64_t first = 0, end = 0;
  std::span<const View<float>> masses;  ///< per KV head: [groups, head_count, blocks up to `end`]
};

/// Memory of such a choice, reused from call to call.
struct AntidiagonalMemory {
  struct Worker {
    Array<float> scores, sorted;
    RowSelection selection;
  };
  Array<float> queries, mass, lse;
  Array<uint8_t> rounded;  ///< the queries on a device, bf16
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  std::vector<View<float>> masses;
  std::vector<Worker> workers;

  /// What it holds for passes of `rows` rows over `keys` keys, with `heads` query heads.
  static size_t bytes_for(const AntidiagonalRule& rule, int tile, int heads, int head_dim,
                          int64_t rows, int64_t keys);
};

/// Writes `seen` of every head for the grid's rows, the queries of the call (rotated, one form).
/// Groups of S rows are counted from the context's first token; a group that the grid holds only in
/// part takes no part in the scores, and a tile without a whole group sees every block up to its
/// own. Returns false, and writes nothing, where the grid holds no whole group at all.
bool choose_antidiagonal_blocks(const AttendCall& call, const TileGrid& grid,
                                const AntidiagonalRule& rule,
                                std::span<const AntidiagonalHeads> heads,
                                AntidiagonalMemory& memory);

}  // namespace longhaul
