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

  /// Returns the number of last tokens that are always visible if N > global + local.
  int64_t local_at(int64_t tokens) const {
    return whole_tiles ? local - (kTile - (tokens - global - local) % kTile) : local;
  }
  int64_t least_local() const { return whole_tiles ? local - kTile : local; }

  /// Returns the number of candidate tokens, which begin with token `global`. 0 means that
  /// everything is visible.
  int64_t middle_at(int64_t tokens) const {
    return tokens <= global + local ? 0 : tokens - global - local_at(tokens);
  }

  /// Returns the number of first tokens that see all earlier tokens, in a prompt that ends at
  /// `tokens`. The last token of the prompt is read separately. With whole tiles, the number of
  /// tokens in between is a multiple of a tile.
  int64_t dense_tokens(int64_t tokens) const {
    if (tokens - 1 <= global + local) return tokens - 1;
    if (!whole_tiles) return global + local;
    return global + local - (kTile - (tokens - 1 - global + local) % kTile);
  }
};

}  // namespace longhaul
