#pragma once
// Divides a context into the three regions of ReAttention (docs/methods/reattention.md). Query rows
// always see the keys of the first tokens (global region) and of the last tokens (local region).
// They see keys of the middle region only if these are selected.

#include <cstdint>

namespace longhaul {

struct ReattentionRegions {
  int64_t global = 32;   ///< number of first tokens
  int64_t local = 4096;  ///< number of last tokens in the local region
  /// If true, the middle region is extended to a multiple of kTile tokens, and the local region
  /// becomes smaller by the same number of tokens, as in the published code.
  bool whole_tiles = true;

  static constexpr int64_t kTile = 128;

  /// Returns the size of the local region in a context of `tokens` tokens. `tokens` must exceed
  /// global + local.
  int64_t local_at(int64_t tokens) const {
    return whole_tiles ? local - (kTile - (tokens - global - local) % kTile) : local;
  }
  /// Returns a lower bound of local_at().
  int64_t least_local() const { return whole_tiles ? local - kTile : local; }

  /// Returns the size of the middle region, whose first token has the index `global`. It is 0 if
  /// the context has no middle region, so that all keys are visible.
  int64_t middle_at(int64_t tokens) const {
    return tokens <= global + local ? 0 : tokens - global - local_at(tokens);
  }

  /// Returns how many tokens at the start of a prompt see all earlier tokens. `tokens` is the
  /// length of the context with the prompt, whose last token is processed separately. If
  /// whole_tiles is true, the number of tokens between the dense tokens and the last token is a
  /// multiple of kTile.
  int64_t dense_tokens(int64_t tokens) const {
    if (tokens - 1 <= global + local) return tokens - 1;
    if (!whole_tiles) return global + local;
    return global + local - (kTile - (tokens - 1 - global + local) % kTile);
  }
};

}  // namespace longhaul
