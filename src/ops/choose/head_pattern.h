#pragma once
// The sparse patterns of query heads (MInference, arXiv:2407.02490), and the search for the best
// pattern of each head. Among six candidates a head takes the one that captures most of its
// attention, measured by its rows' softmax denominators.

#include <cstdint>
#include <functional>
#include <span>

#include "base/array.h"

namespace longhaul {

enum class PatternKind : uint8_t { kAShape, kVerticalSlash, kBlocks };

struct HeadPattern {
  PatternKind kind = PatternKind::kVerticalSlash;
  int64_t vertical = 1000;  ///< columns; kAShape: sinks; kBlocks: key blocks per row block
  int64_t slash = 6096;     ///< diagonals; kAShape: window
  double score = 0;         ///< share of the attention captured in the search

  static constexpr int64_t kMost = 1 << 24;
  bool in_range() const {
    return vertical >= 0 && vertical <= kMost && slash >= 0 && slash <= kMost &&
           (kind != PatternKind::kAShape || slash > 0);
  }
};

/// The rows of a layer used for a search.
struct SearchedRows {
  Queue& queue;
  int64_t begin = 0;          ///< position of row 0
  View<const float> all_lse;  ///< [rows, heads]: lse with every key visible
};

/// Attends the rows with all heads under one candidate. Returns their lse, [rows, heads].
using AttendByPattern = std::function<View<const float>(const HeadPattern& candidate)>;

/// Writes the best candidate of every head. Its `score` is the share of attention that it captures,
/// averaged over the rows from token 2,500 on (at least the last row).
void search_patterns(const SearchedRows& rows, const AttendByPattern& attend,
                     std::span<HeadPattern> best);

}  // namespace longhaul
