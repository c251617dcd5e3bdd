#pragma once
// Selects key blocks as XAttention does (arXiv:2503.16428), which scores blocks by their
// antidiagonals. The product of S concatenated queries, in reverse order, and S concatenated keys
// is the sum of S products on an antidiagonal. A block's score is the softmax over such groups of
// keys, summed over the block. Every tile of rows then takes the best blocks until they hold a
// share of its scores. Blocks are as long as tiles.

#include <span>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/choose/select_rows.h"
#include "ops/choose/tile_grid.h"

namespace longhaul {

/// Most elements of S concatenated keys.
inline constexpr int kMostGroupElements = 2048;
/// Number of rows whose scores exist at a time.
inline constexpr int64_t kAntidiagonalRows = 4096;

struct AntidiagonalRule {
  int stride = 8;   ///< S: divides a tile, and a page of the keys
  double norm = 1;  ///< divides the scores before their softmax
};

/// The query heads of a KV head.
struct AntidiagonalHeads {
  int head_begin = 0, head_count = 0;
  PagedRows keys;  ///< row i is token i; covers all keys of the grid
  /// [head_count]: share of a tile's scores that its blocks must hold
  std::span<const double> shares;
  View<uint8_t> seen;  ///< [head_count, grid.tiles(), grid.blocks()]: 1 if a tile sees a block
};

/// Attention of the row groups [first, end), counted from the context's first token, to blocks of
/// keys.
struct GroupMasses {
  const TileGrid& grid;
  int per_block = 0;  ///< groups
  int64_t first = 0, end = 0;
  std::span<const View<float>> masses;  ///< per KV head: [groups, head_count, blocks up to `end`]
};

/// Memory of the selection, reused from call to call.
struct AntidiagonalMemory {
  struct Worker {
    Array<float> scores, sorted;
    RowSelection selection;
  };
  Array<float> queries, mass, lse;
  Array<uint8_t> rounded;  ///< queries on a device, bf16
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  std::vector<View<float>> masses;
  std::vector<Worker> workers;

  /// Returns the bytes held for passes of `rows` rows over `keys` keys, with `heads` query heads.
  static size_t bytes_for(const AntidiagonalRule& rule, int tile, int heads, int head_dim,
                          int64_t rows, int64_t keys);
};

/// Writes `seen` of every head for the grid's rows, which are the queries of the call (rotated, one
/// form). Groups of S rows are counted from the context's first token. A group that is only partly
/// in the grid does not contribute to the scores. A tile without a whole group sees every block up
/// to its own. Returns false without writing if the grid contains no whole group.
bool choose_antidiagonal_blocks(const AttendCall& call, const TileGrid& grid,
                                const AntidiagonalRule& rule,
                                std::span<const AntidiagonalHeads> heads,
                                AntidiagonalMemory& memory);

// The steps of choose_antidiagonal_blocks() besides block_mass(). A device implements all of them
// or none.
/// Writes the rows of each group of q [groups * stride, heads, head_dim], the group's last row
/// first, to `rounded` [groups, heads, stride, head_dim] in bf16.
inline const DeviceOperation<bool(View<const float> q, int64_t groups, int stride, int heads,
                                  int head_dim, View<uint8_t> rounded)>
    kLayOutGroups;
inline const DeviceOperation<bool(View<uint8_t> seen)> kSeeAllBlocks;
inline const DeviceOperation<bool(const GroupMasses&, std::span<const AntidiagonalHeads>)>
    kChooseAntidiagonals;

}  // namespace longhaul
