#pragma once
// RoCo's scores of a list (arXiv:2402.06262). Among the rows whose attention varies least between
// rows of the text, those with the least attention on average are evicted. The others are kept.

#include <span>

#include "base/array.h"

namespace longhaul {

/// Adds to column[i] of every list the number of the list's last `rows` rows that see row i: `rows`
/// for earlier rows, and one less for each later row.
void add_seen(Queue& queue, int64_t rows, std::span<const View<float>> columns);

/// Attention that each row of a list received so far from rows of the text, and the number of rows
/// that saw it: [rows] each.
struct AttentionSoFar {
  View<const float> sums, squares, seen;
};

struct SteadyRule {
  int64_t sink = 0;      ///< first rows, not scored
  int64_t settling = 0;  ///< last rows: seen by too few rows to be scored
  int64_t feasible = 0;  ///< most rows that are scored: those with the smallest variance
};

struct SteadyList {
  AttentionSoFar got;
  SteadyRule rule;
  View<float> scores;  ///< [rows]: result
};

/// Scores of every list: the mean attention of the `feasible` rows between the ends with the
/// smallest variance, infinity for all others. The lowest scores are evicted. Variance that
/// rounding alone causes for equal numbers counts as zero.
void steady_scores(Queue& queue, std::span<const SteadyList> lists, Array<float>& scratch);

}  // namespace longhaul
