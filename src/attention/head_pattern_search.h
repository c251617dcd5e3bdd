#pragma once
// MInference's search for the pattern of every query head (arXiv:2407.02490): of six candidates
// each head takes the one that catches most of its attention, as its rows' softmax denominators
// tell.

#include <functional>
#include <span>
#include <vector>

#include "attention/head_patterns.h"

namespace longhaul {

/// Rows of a layer that a search is made on.
struct SearchedRows {
  int64_t begin = 0;  ///< position of row 0
  int rows = 0, heads = 0;
  std::span<const float> dense_lse;  ///< [rows, heads]: LayerStep::lse where a row sees every key
};

/// Attends the rows with all heads under one candidate and fills `lse` [rows, heads].
using AttendByPattern = std::function<void(const HeadPattern& candidate, std::span<float> lse)>;

/// The best candidate of every head. Its `score` is the share of the attention that it catches, the
/// mean over the rows from token 2,500 on (at least the last row) of
///   exp(lse of the candidate's keys - lse of all keys).
std::vector<HeadPattern> search_patterns(const SearchedRows& rows, const AttendByPattern& attend);

}  // namespace longhaul
