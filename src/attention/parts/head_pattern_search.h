#pragma once
// MInference's search for the pattern of every query head (arXiv:2407.02490): of six candidates
// each head takes the one that catches most of its attention, as its rows' softmax denominators
// tell.

#include <functional>
#include <span>

#include "attention/parts/head_patterns.h"
#include "base/array.h"

namespace longhaul {

/// Rows of a layer that a search is made on.
struct SearchedRows {
  Queue& queue;
  int64_t begin = 0;          ///< position of row 0
  View<const float> all_lse;  ///< [rows, heads]: where a row sees every key
};

/// Attends the rows with all heads under one candidate; returns their lse, [rows, heads].
using AttendByPattern = std::function<View<const float>(const HeadPattern& candidate)>;

/// Writes the best candidate of every head. Its `score` is the share of the attention that it
/// catches, the mean over the rows from token 2,500 on (at least the last row).
void search_patterns(const SearchedRows& rows, const AttendByPattern& attend,
                     std::span<HeadPattern> best);

}  // namespace longhaul
