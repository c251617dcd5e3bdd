#pragma once
// ContextMap stores the attention maps of blocks of tokens (Ltri-LLM, arXiv:2412.04757, section
// 3.2). The map of a block holds the attention of each of its tokens (a map row) to the tokens of
// the block up to itself. The remainder is the end of the context, whose tokens are not yet in the
// index of blocks (ops/blocks/context_split.h). Map rows are stored while their tokens are in the
// remainder.

#include "attention/methods/ltri/tile_map.h"
#include "ops/attention/sliding_rows.h"
#include "ops/attention/window_rows.h"
#include "ops/blocks/context_split.h"

namespace longhaul {

/// Buffers that are reused between calls.
struct MapMemory {
  std::vector<MapTile> tiles;
  std::vector<std::vector<KeySegment>> keys;  ///< per tile: its keys
  Array<float> map;
};

/// The maps of one layer, summed over all query heads (of all devices if several share the model).
class ContextMap {
 public:
  explicit ContextMap(const ContextSizes& sizes) : sizes_(sizes), map_(sizes.block) {}

  /// Adds the map rows of new tokens. `rows` holds the arguments for recomputing their attention.
  void add(const WindowRows& rows, MapMemory& memory);
  /// Returns the maps [blocks, block, block] of `blocks` blocks, the first of which begins at token
  /// `first`. `tokens` is the length of the context before the last add(). The result is valid
  /// until drop().
  View<const float> of(int64_t first, int64_t blocks, int64_t tokens);
  /// Removes the map rows of tokens that leave the remainder when the context grows from `before`
  /// to `after` tokens.
  void drop(int64_t before, int64_t after);

  void archive(Archive& archive) { map_.archive(archive); }
  /// Returns whether the number of stored map rows is right for a context of `tokens` tokens.
  bool fits(int64_t tokens) const { return map_.numbers() == tokens_of(tokens) * sizes_.block; }

 private:
  int64_t first_token(int64_t tokens) const;
  int64_t tokens_of(int64_t tokens) const;

  ContextSizes sizes_;
  SlidingRows map_;  ///< [tokens from first_token() on, block]
};

/// Divides `rows` into blocks of `block` rows. Returns the attention of each row to the rows of its
/// own block, [rows, block]. The result is stored in `memory`.
View<const float> maps_of_rows(const WindowRows& rows, int block, MapMemory& memory);

}  // namespace longhaul
