#pragma once
// The attention maps of blocks (Ltri-LLM, arXiv:2412.04757, 3.2): what every token paid the earlier
// tokens of its own block, kept row by row until the block leaves the remainder of its context and
// is divided into spans.

#include "ops/attention/sliding_rows.h"
#include "ops/attention/window_rows.h"
#include "ops/blocks/context_split.h"
#include "ops/maps/tile_map.h"

namespace longhaul {

/// Memory of maps, reused from call to call.
struct MapMemory {
  std::vector<MapTile> tiles;
  std::vector<std::vector<KeySegment>> keys;  ///< of each tile
  Array<float> map;
};

/// Of one layer: of the heads of all devices of a team.
class ContextMap {
 public:
  explicit ContextMap(const ContextSizes& sizes) : sizes_(sizes), map_(sizes.block) {}

  /// Adds rows that follow those it has.
  void add(const WindowRows& rows, MapMemory& memory);
  /// The maps of `blocks` blocks from token `first` on, [blocks, block, block], where the context
  /// had `tokens` tokens before the rows that were added last. Valid until drop().
  View<const float> of(int64_t first, int64_t blocks, int64_t tokens);
  /// Forgets the blocks that leave the remainder while a context of `before` tokens grows to
  /// `after`.
  void drop(int64_t before, int64_t after);

  void archive(Archive& archive) { map_.archive(archive); }
  /// Whether it is of a context of `tokens` tokens.
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
