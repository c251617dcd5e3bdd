#pragma once
// What ReAttention always sees of N tokens, what it chooses from, and what a choice brings along
// (docs/methods/reattention.md).

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

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

/// The tokens `span / 2` before each of `chosen` (ascending) to `span - span / 2 - 1` after it, as
/// far as they are in [0, middle), ascending and once each, plus `first`.
inline std::vector<int32_t> expanded_spans(std::span<const int32_t> chosen, int64_t span,
                                           int64_t middle, int64_t first) {
  std::vector<int32_t> all;
  int64_t next = 0;
  for (const int32_t i : chosen) {
    const int64_t end = std::min(middle, i - span / 2 + span);
    for (next = std::max(next, i - span / 2); next < end; ++next) {
      all.push_back(static_cast<int32_t>(first + next));
    }
  }
  return all;
}

}  // namespace longhaul
