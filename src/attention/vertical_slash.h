#pragma once
// MInference's vertical-slash pattern: the columns and diagonals of the attention map that the last
// rows look at most, in tiles of 64 rows (arXiv:2407.02490).

#include <cstdint>
#include <span>
#include <vector>

#include "ops/tile_keys.h"

namespace longhaul {

class VerticalSlash {
 public:
  static constexpr int kTile = 64;

  /// The best `vertical` columns [keys], the first 30 keys among them, and the best `slash`
  /// diagonals [keys], the nearest 100 among them.
  void choose(std::span<const float> columns, int64_t vertical, std::span<const float> diagonals,
              int64_t slash);

  /// What a tile whose last row ends before `tile_end` sees: a diagonal at distance o is the
  /// stretch of 64 keys that ends at tile_end - o (the first 64 keys where that would begin before
  /// them).
  void add_to(int64_t tile_end, TileKeys& keys) const;

 private:
  /// Neighbouring diagonals whose stretches touch, by their distances.
  struct Run {
    int64_t far, near;
  };
  std::vector<int32_t> columns_;
  std::vector<Run> diagonals_;  ///< far ones first
};

}  // namespace longhaul
