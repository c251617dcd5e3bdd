#pragma once
// Computes how many rows each layer keeps in PyramidKV (arXiv:2406.02069): the first layers keep
// more rows than the last ones. A row is the stored key and value of one token.

#include <cstdint>

namespace longhaul {

struct PyramidBudget {
  int layers = 0;
  int64_t capacity = 0;  ///< average number of rows that a layer keeps
  int64_t window = 0;    ///< number of last rows that every layer keeps; part of `capacity`
  int64_t beta = 0;      ///< without the window, the last layer keeps about 1 / beta of the average

  /// Returns how many rows before the window a layer keeps in a context of `tokens` tokens. The
  /// numbers decrease linearly from the first to the last layer.
  int64_t scheduled(int layer, int64_t tokens) const;
  /// Returns the total number of rows that a layer keeps. A context of fewer than `capacity` tokens
  /// is kept completely. Below 2 * (capacity - window) tokens, every layer keeps `capacity` rows.
  /// Otherwise a layer keeps scheduled() rows and the window.
  int64_t kept(int layer, int64_t tokens) const;
};

}  // namespace longhaul
