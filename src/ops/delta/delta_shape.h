#pragma once
// Sizes of a gated delta net, a layer that keeps a state instead of keys and values (Yang et al.
// 2024, arXiv:2412.06464).

#include <cstdint>

namespace longhaul {

struct DeltaShape {
  int key_heads = 0;    ///< number of heads of queries, and of keys
  int value_heads = 0;  ///< number of heads of values, each with its own state; a multiple of
                        ///< key_heads
  int key_dim = 0;      ///< size of a head of queries and keys
  int value_dim = 0;    ///< size of a head of values
  int kernel = 0;       ///< number of rows that the convolution covers
  /// If true, value head h uses key head h % key_heads. If false, consecutive value heads use the
  /// same key head.
  bool tiled = false;

  bool empty() const { return value_heads == 0; }
  int64_t keys() const { return int64_t{key_heads} * key_dim; }
  int64_t values() const { return int64_t{value_heads} * value_dim; }
  /// Returns the number of channels of the convolution: those of queries, keys and values.
  int64_t channels() const { return 2 * keys() + values(); }
  int key_head(int value_head) const {
    return tiled ? value_head % key_heads : value_head / (value_heads / key_heads);
  }
  /// history() and state() return numbers of floats. The state of a layer consists of a history and
  /// matrices. The history is the last rows before the convolution, [kernel - 1, channels]. There
  /// is one matrix per value head, [value_heads, key_dim, value_dim].
  int64_t history() const { return (kernel - 1) * channels(); }
  int64_t state() const { return history() + int64_t{value_heads} * key_dim * value_dim; }
};

}  // namespace longhaul
