#pragma once
// The sparse patterns of query heads (MInference, arXiv:2407.02490), and the search for the best
// pattern of each head. The search compares six candidates. A head gets the one that captures most
// of its attention, which is computed from softmax denominators.

#include <cstdint>
#include <functional>
#include <span>

#include "base/array.h"

namespace longhaul {

enum class PatternKind : uint8_t { kAShape, kVerticalSlash, kBlocks };

struct HeadPattern {
  PatternKind kind = PatternKind::kVerticalSlash;
  /// For kVerticalSlash: number of columns. For kAShape: number of sinks, the first keys that all
  /// rows see. For kBlocks: number of key blocks that each block of rows sees.
  int64_t vertical = 1000;
  /// For kVerticalSlash: number of diagonals; for kAShape: size of the window.
  int64_t slash = 6096;
  double score = 0;  ///< share of the attention that the pattern captured in the search

  static constexpr int64_t kMost = 1 << 24;
  bool in_range() const {
    return vertical >= 0 && vertical <= kMost && slash >= 0 && slash <= kMost &&
           (kind != PatternKind::kAShape || slash > 0);
  }
};

/// The rows of a layer for which patterns are searched.
struct SearchedRows {
  Queue& queue;
  int64_t begin = 0;          ///< position of row 0
  View<const float> all_lse;  ///< [rows, heads]: lse of attention over all visible keys
};

/// Computes the attention of the rows with one candidate pattern for all heads. Returns the lse,
/// [rows, heads].
using AttendByPattern = std::function<View<const float>(const HeadPattern& candidate)>;

/// Writes the best candidate of every head to `best`. Its `score` is the share of attention that it
/// captures, averaged over the rows from token 2,500 on. If there are no such rows, only the last
/// row is used.
void search_patterns(const SearchedRows& rows, const AttendByPattern& attend,
                     std::span<HeadPattern> best);

}  // namespace longhaul
