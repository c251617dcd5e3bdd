#pragma once
// Distributes a budget of rows over the layers as PyramidKV does (arXiv:2406.02069).

#include <cstdint>

namespace longhaul {

struct PyramidBudget {
  int layers = 0;
  int64_t capacity = 0;  ///< rows per layer on average
  int64_t window = 0;    ///< last rows that every layer keeps; included in `capacity`
  int64_t beta = 0;      ///< the last layer keeps about 1 / beta of the average

  /// Returns how many rows before the window a layer keeps by the decreasing schedule. The context
  /// has `tokens` tokens.
  int64_t scheduled(int layer, int64_t tokens) const;
  /// Returns the total number of rows that a layer keeps. Below `capacity` tokens, all rows are
  /// kept. As long as the context is shorter than the number of rows that the first layers may
  /// keep, the result is equal in all layers. Otherwise it follows the schedule.
  int64_t kept(int layer, int64_t tokens) const;
};

}  // namespace longhaul
