#pragma once
// The sparse attention patterns of MInference (arXiv:2407.02490), and the search for the best
// pattern of each query head. A pattern determines which keys a query row sees. The search compares
// six candidates. A head gets the candidate whose keys receive most of the head's attention.

#include <cstdint>
#include <functional>
#include <span>

#include "base/array.h"

namespace longhaul {

enum class PatternKind : uint8_t { kAShape, kVerticalSlash, kBlocks };

struct HeadPattern {
  PatternKind kind = PatternKind::kVerticalSlash;
  /// For kVerticalSlash: number of columns (keys that all later rows see). For kAShape: number of
  /// first keys, which all rows see. For kBlocks: number of key blocks that each tile of rows sees.
  int64_t vertical = 1000;
  /// For kVerticalSlash: number of diagonals (distances at which rows see keys). For kAShape: size
  /// of the window of last keys.
  int64_t slash = 6096;
  double score = 0;  ///< share of the attention that the keys of the pattern received

  static constexpr int64_t kMost = 1 << 24;
  bool in_range() const {
    return vertical >= 0 && vertical <= kMost && slash >= 0 && slash <= kMost &&
           (kind != PatternKind::kAShape || slash > 0);
  }
};

/// The query rows of a layer with which patterns are searched.
struct SearchedRows {
  Queue& queue;
  int64_t begin = 0;          ///< position of row 0
  View<const float> all_lse;  ///< [rows, heads]: log of the softmax denominator over all keys
};

/// A function that computes the attention of the rows with one candidate pattern for all heads. It
/// returns the logs of the softmax denominators over the keys of the pattern, [rows, heads].
using AttendByPattern = std::function<View<const float>(const HeadPattern& candidate)>;

/// Writes the best candidate of every head to `best`. Its `score` is the share of the attention
/// that its keys receive, averaged over the query rows from position 2,500 on. If there are no such
/// rows, only the last row is used.
void search_patterns(const SearchedRows& rows, const AttendByPattern& attend,
                     std::span<HeadPattern> best);

}  // namespace longhaul
