#pragma once
// What ReAttention always sees of N tokens and what it chooses from (docs/methods/reattention.md).

#include <cstdint>

namespace longhaul {

struct ReattentionRegions {
  int64_t global = 32;   ///< first tokens, always seen
  int64_t local = 4096;  ///< last tokens, always seen
  bool whole_tiles =
      true;  ///< published code: the middle is whole tiles, taken from the local part

  static constexpr int64_t kTile = 128;

  /// Last tokens that are seen for certain when N > global + local.
  int64_t local_at(int64_t tokens) const {
    return whole_tiles ? local - (kTile - (tokens - global - local) % kTile) : local;
  }
  int64_t least_local() const { return whole_tiles ? local - kTile : local; }

  /// Tokens [global, global + middle) are chosen from; 0: everything is seen.
  int64_t middle_at(int64_t tokens) const {
    return tokens <= global + local ? 0 : tokens - global - local_at(tokens);
  }

  /// Tokens at the beginning that see all before them, of a prompt that ends at `tokens`; its last
  /// token is read on its own. With whole tiles what lies between is a multiple of a tile.
  int64_t dense_tokens(int64_t tokens) const {
    if (tokens - 1 <= global + local) return tokens - 1;
    if (!whole_tiles) return global + local;
    return global + local - (kTile - (tokens - 1 - global + local) % kTile);
  }
};

}  // namespace longhaul
