#pragma once
// The attention maps of blocks (Ltri-LLM, arXiv:2412.04757, 3.2): attention of every token to the
// earlier tokens of its block. Rows are stored until the block leaves the remainder of its context
// and is divided into spans.

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
  /// The maps of `blocks` blocks from token `first` on, [blocks, block, block]. `tokens` is the
  /// length of the context before the rows added last. Valid until drop().
  View<const float> of(int64_t first, int64_t blocks, int64_t tokens);
  /// Drops the blocks that leave the remainder when a context grows from `before` to `after`
  /// tokens.
  void drop(int64_t before, int64_t after);

  void archive(Archive& archive) { map_.archive(archive); }
  /// Whether the map belongs to a context of `tokens` tokens.
  bool fits(int64_t tokens) const { return map_.numbers() == tokens_of(tokens) * sizes_.block; }

 private:
  int64_t first_token(int64_t tokens) const;
  int64_t tokens_of(int64_t tokens) const;

  ContextSizes sizes_;
  SlidingRows map_;  ///< [tokens from first_token() on, block]
};

/// The maps of the rows among themselves, `block` rows at a time: [rows, block]. The result lives
/// in `memory`.
View<const float> maps_of_rows(const WindowRows& rows, int block, MapMemory& memory);

}  // namespace longhaul
