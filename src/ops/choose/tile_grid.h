#pragma once
// Rows of a prompt in tiles that select their keys together. Tile boundaries are multiples of
// `tile` tokens of the context, so they do not depend on the start of a pass. Keys are counted in
// blocks of the same size.

#include <algorithm>
#include <cstdint>

namespace longhaul {

struct TileGrid {
  int tile = 0;       ///< tokens per tile
  int64_t begin = 0;  ///< position of row 0
  int64_t rows = 0;

  constexpr int64_t keys() const { return begin + rows; }
  constexpr int64_t first_tile() const { return begin / tile; }
  /// Number of tiles that contain rows; the first and the last one may be partial.
  constexpr int64_t tiles() const { return blocks() - first_tile(); }
  constexpr int64_t blocks() const { return (keys() + tile - 1) / tile; }
  constexpr int64_t tile_of(int64_t row) const { return (begin + row) / tile; }
  /// Rows [row_begin, row_end) of a tile, numbered from the context's first token.
  constexpr int64_t row_begin(int64_t at) const { return std::max<int64_t>(0, at * tile - begin); }
  constexpr int64_t row_end(int64_t at) const { return std::min(rows, (at + 1) * tile - begin); }
};

}  // namespace longhaul
