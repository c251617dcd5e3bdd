#pragma once
// Attention maps of blocks (Ltri-LLM, arXiv:2412.04757, 3.2). A map has the attention of every
// token of a block to the earlier tokens of the block. The remainder of a context is its last part,
// which is not yet divided into spans. Rows of the map are stored while their block is in the
// remainder.

#include "ops/attention/sliding_rows.h"
#include "ops/attention/window_rows.h"
#include "ops/blocks/context_split.h"
#include "ops/maps/tile_map.h"

namespace longhaul {

/// Memory of maps, reused from call to call.
struct MapMemory {
  std::vector<MapTile> tiles;
  std::vector<std::vector<KeySegment>> keys;  ///< per tile
  Array<float> map;
};

/// The maps of one layer, summed over the heads of all devices of a team.
class ContextMap {
 public:
  explicit ContextMap(const ContextSizes& sizes) : sizes_(sizes), map_(sizes.block) {}

  /// Adds rows that follow the present ones.
  void add(const WindowRows& rows, MapMemory& memory);
  /// Returns the maps of `blocks` blocks from token `first` on, [blocks, block, block]. `tokens` is
  /// the length of the context before the rows added last. Valid until drop().
  View<const float> of(int64_t first, int64_t blocks, int64_t tokens);
  /// Drops the blocks that leave the remainder when a context grows from `before` to `after`
  /// tokens.
  void drop(int64_t before, int64_t after);

  void archive(Archive& archive) { map_.archive(archive); }
  /// Returns whether the map belongs to a context of `tokens` tokens.
  bool fits(int64_t tokens) const { return map_.numbers() == tokens_of(tokens) * sizes_.block; }

 private:
  int64_t first_token(int64_t tokens) const;
  int64_t tokens_of(int64_t tokens) const;

  ContextSizes sizes_;
  SlidingRows map_;  ///< [tokens from first_token() on, block]
};

/// Returns the maps of the rows: the attention of each row to the rows of its block of `block`
/// rows, [rows, block]. The result is stored in `memory`.
View<const float> maps_of_rows(const WindowRows& rows, int block, MapMemory& memory);

}  // namespace longhaul
