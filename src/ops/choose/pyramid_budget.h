#pragma once
// How PyramidKV spreads a budget over the layers (arXiv:2406.02069).

#include <cstdint>

namespace longhaul {

struct PyramidBudget {
  int layers = 0;
  int64_t capacity = 0;  ///< rows per layer on average
  int64_t window = 0;    ///< rows at the end that every layer keeps, part of capacity
  int64_t beta = 0;      ///< the last layer keeps about 1 / beta of the average

  /// Rows before the window that a layer keeps by the falling schedule, of a context of `tokens`.
  int64_t scheduled(int layer, int64_t tokens) const;
  /// Rows that a layer keeps in all: everything below `capacity` tokens, the same in every layer
  /// while the context is shorter than what the first layers could keep, else the schedule.
  int64_t kept(int layer, int64_t tokens) const;
};

}  // namespace longhaul
