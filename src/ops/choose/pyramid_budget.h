#pragma once
// Distributes a budget over the layers as PyramidKV does (arXiv:2406.02069).

#include <cstdint>

namespace longhaul {

struct PyramidBudget {
  int layers = 0;
  int64_t capacity = 0;  ///< rows per layer on average
  int64_t window = 0;    ///< last rows kept by every layer, part of capacity
  int64_t beta = 0;      ///< the last layer keeps about 1 / beta of the average

  /// Returns the number of rows before the window that a layer keeps by the decreasing schedule, in
  /// a context of `tokens` tokens.
  int64_t scheduled(int layer, int64_t tokens) const;
  /// Returns the number of rows that a layer keeps in total. Below `capacity` tokens all rows are
  /// kept. While the context is shorter than the number of rows that the first layers could keep,
  /// the result is equal in every layer. Otherwise it follows the schedule.
  int64_t kept(int layer, int64_t tokens) const;
};

}  // namespace longhaul
