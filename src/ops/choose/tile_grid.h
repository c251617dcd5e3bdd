#pragma once
// Divides the query rows of a prompt into tiles. The rows of a tile select their keys together. The
// boundaries of tiles are multiples of `tile` tokens of the context, so that they do not depend on
// where a forward pass begins. The keys are divided into blocks of the same size.

#include <algorithm>
#include <cstdint>

namespace longhaul {

struct TileGrid {
  int tile = 0;       ///< tokens per tile
  int64_t begin = 0;  ///< position of row 0
  int64_t rows = 0;

  constexpr int64_t keys() const { return begin + rows; }
  constexpr int64_t first_tile() const { return begin / tile; }
  /// Returns the number of tiles that contain rows. The first and the last of them may be
  /// incomplete.
  constexpr int64_t tiles() const { return blocks() - first_tile(); }
  constexpr int64_t blocks() const { return (keys() + tile - 1) / tile; }
  constexpr int64_t tile_of(int64_t row) const { return (begin + row) / tile; }
  /// row_begin() and row_end() return the rows [begin, end) of tile `at`. Tiles are numbered from
  /// the context's first token.
  constexpr int64_t row_begin(int64_t at) const { return std::max<int64_t>(0, at * tile - begin); }
  constexpr int64_t row_end(int64_t at) const { return std::min(rows, (at + 1) * tile - begin); }
};

}  // namespace longhaul
