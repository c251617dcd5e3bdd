#pragma once
// Selects key blocks as XAttention does (arXiv:2503.16428). A group is S consecutive query rows, or
// S consecutive keys. The S queries of a group are concatenated in reverse order, and the S keys of
// a group in order. The dot product of the two is the sum of the S scores on an antidiagonal of the
// attention map. These sums are normalised by a softmax over the groups of keys. The score of a
// block is the sum of the softmax over the groups in the block. A tile is a group of adjacent query
// rows. Each tile then selects the best blocks until they hold a given share of its scores. A block
// has as many keys as a tile has rows.

#include <span>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/choose/select_rows.h"
#include "ops/choose/tile_grid.h"

namespace longhaul {

/// Largest number of elements of S concatenated keys.
inline constexpr int kMostGroupElements = 2048;
/// Number of rows whose scores are held in memory at a time.
inline constexpr int64_t kAntidiagonalRows = 4096;

struct AntidiagonalRule {
  int stride = 8;   ///< S: a divisor of the tile size and of the page size
  double norm = 1;  ///< divisor of the scores before the softmax
};

/// The query heads of one KV head.
struct AntidiagonalHeads {
  int head_begin = 0, head_count = 0;
  PagedRows keys;  ///< row i is token i; covers all keys of the grid
  /// [head_count]: share of a tile's scores that its selected blocks must hold.
  std::span<const double> shares;
  View<uint8_t> seen;  ///< [head_count, grid.tiles(), grid.blocks()]: 1 if a tile sees a block
};

/// The attention of row groups [first, end) to blocks of keys. Groups are counted from the
/// context's first token.
struct GroupMasses {
  const TileGrid& grid;
  int per_block = 0;  ///< groups per block
  int64_t first = 0, end = 0;
  /// Per KV head: [groups, head_count, blocks], with the blocks of all keys before group `end`.
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

  /// Returns the bytes of the buffers for passes of `rows` rows over `keys` keys.
  static size_t bytes_for(const AntidiagonalRule& rule, int tile, int heads, int head_dim,
                          int64_t rows, int64_t keys);
};

/// Writes `seen` of every head for the rows of the grid. The queries of `call` are these rows,
/// rotated, in one array. Groups of S rows are counted from the context's first token. A group that
/// is only partly in the grid does not contribute to the scores. A tile without a whole group sees
/// every block up to its own. Returns false and writes nothing if the grid contains no whole group.
bool choose_antidiagonal_blocks(const AttendCall& call, const TileGrid& grid,
                                const AntidiagonalRule& rule,
                                std::span<const AntidiagonalHeads> heads,
                                AntidiagonalMemory& memory);

// The steps of choose_antidiagonal_blocks() other than block_mass(). A device implements all of
// them or none.
/// Writes the rows of each group of q [groups * stride, heads, head_dim] in reverse order to
/// `rounded` [groups, heads, stride, head_dim], in bf16.
inline const DeviceOperation<bool(View<const float> q, int64_t groups, int stride, int heads,
                                  int head_dim, View<uint8_t> rounded)>
    kLayOutGroups;
inline const DeviceOperation<bool(View<uint8_t> seen)> kSeeAllBlocks;
inline const DeviceOperation<bool(const GroupMasses&, std::span<const AntidiagonalHeads>)>
    kChooseAntidiagonals;

}  // namespace longhaul
