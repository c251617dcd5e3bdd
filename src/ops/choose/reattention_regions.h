#pragma once
// The regions of N tokens that ReAttention always sees and from which it selects
// (docs/methods/reattention.md).

#include <cstdint>

namespace longhaul {

struct ReattentionRegions {
  int64_t global = 32;      ///< first tokens, always visible
  int64_t local = 4096;     ///< last tokens, always visible
  bool whole_tiles = true;  ///< published code: the middle is whole tiles, reducing the local part

  static constexpr int64_t kTile = 128;

  /// Number of last tokens that are always visible if N > global + local.
  int64_t local_at(int64_t tokens) const {
    return whole_tiles ? local - (kTile - (tokens - global - local) % kTile) : local;
  }
  int64_t least_local() const { return whole_tiles ? local - kTile : local; }

  /// Number of candidate tokens, beginning with token `global`; 0: everything is visible.
  int64_t middle_at(int64_t tokens) const {
    return tokens <= global + local ? 0 : tokens - global - local_at(tokens);
  }

  /// Number of first tokens that see all earlier ones, in a prompt that ends at `tokens`. Its last
  /// token is read separately. With whole tiles the tokens in between are a multiple of a tile.
  int64_t dense_tokens(int64_t tokens) const {
    if (tokens - 1 <= global + local) return tokens - 1;
    if (!whole_tiles) return global + local;
    return global + local - (kTile - (tokens - 1 - global + local) % kTile);
  }
};

}  // namespace longhaul
