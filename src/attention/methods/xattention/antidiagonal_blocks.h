#pragma once
// Selects the key blocks that each tile of query rows sees, as XAttention does (arXiv:2503.16428).
// A tile consists of adjacent query rows, and a block of as many adjacent keys. Both are divided
// into groups of S consecutive rows or keys. The S queries of a row group are concatenated in
// reverse order, and the S keys of a key group in order. The dot product of the two vectors is the
// sum of the S attention scores on an antidiagonal of the attention map. For each row group, a
// softmax over the key groups up to its own normalises these sums. The score of a block for a tile
// is the sum of the softmax over the tile's row groups and the block's key groups. Each tile
// selects the blocks with the highest scores until they hold a given share of the tile's scores.

#include <span>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/choose/select_rows.h"
#include "ops/choose/tile_grid.h"

namespace longhaul {

/// Largest supported number of elements of S concatenated keys.
inline constexpr int kMostGroupElements = 2048;
/// Number of query rows whose scores are computed and stored at a time.
inline constexpr int64_t kAntidiagonalRows = 4096;

struct AntidiagonalRule {
  int stride = 8;   ///< S: a divisor of the tile size and of the page size
  double norm = 1;  ///< divisor of the scores before the softmax
};

/// The query heads that share one KV head.
struct AntidiagonalHeads {
  int head_begin = 0, head_count = 0;
  PagedRows keys;  ///< stored rows of the KV head; row i is token i
  /// [head_count]: share of a tile's scores that the selected blocks must hold.
  std::span<const double> shares;
  /// Result [head_count, grid.tiles(), grid.blocks()]: 1 if a tile sees a block.
  View<uint8_t> seen;
};

/// The softmax of row groups [first, end), summed per block of keys. Groups are numbered from the
/// context's first token.
struct GroupMasses {
  const TileGrid& grid;
  int per_block = 0;  ///< number of groups per tile or block
  int64_t first = 0, end = 0;
  /// Per KV head: [row groups, head_count, blocks]. `blocks` is the number of blocks with keys
  /// before row group `end`.
  std::span<const View<float>> masses;
};

/// Buffers that are reused between calls.
struct AntidiagonalMemory {
  struct Worker {
    Array<float> scores, sorted;
    RowSelection selection;
  };
  Array<float> queries, mass, lse;
  Array<uint8_t> rounded;  ///< concatenated queries in bf16, on a device only
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  std::vector<View<float>> masses;
  std::vector<Worker> workers;

  /// Returns the size in bytes of the buffers for passes of `rows` rows over `keys` keys.
  static size_t bytes_for(const AntidiagonalRule& rule, int tile, int heads, int head_dim,
                          int64_t rows, int64_t keys);
};

/// Writes `seen` of every head for the tiles of the grid. `call` must have one query array, which
/// holds the rows of the grid, rotated by RoPE. Row groups begin at multiples of S tokens of the
/// context. A row group that is only partly in the grid is ignored. A tile without a complete row
/// group sees every block up to its own. Returns false and writes nothing if the grid contains no
/// complete row group.
bool choose_antidiagonal_blocks(const AttendCall& call, const TileGrid& grid,
                                const AntidiagonalRule& rule,
                                std::span<const AntidiagonalHeads> heads,
                                AntidiagonalMemory& memory);

// The following operations are the steps of choose_antidiagonal_blocks(), except block_mass()
// (ops/maps/block_mass.h). A device implements all of them or none.
/// Writes the queries of each group of q [groups * stride, heads, head_dim] in reverse order to
/// `rounded` [groups, heads, stride, head_dim], in bf16.
inline const DeviceOperation<bool(View<const float> q, int64_t groups, int stride, int heads,
                                  int head_dim, View<uint8_t> rounded)>
    kLayOutGroups;
inline const DeviceOperation<bool(View<uint8_t> seen)> kSeeAllBlocks;
inline const DeviceOperation<bool(const GroupMasses&, std::span<const AntidiagonalHeads>)>
    kChooseAntidiagonals;

}  // namespace longhaul
