#pragma once
// Computes RoCo's scores of a list (arXiv:2402.06262). Steady rows are the rows whose received
// attention varies least between the rows of the text. The steady rows with the least attention on
// average are evicted. All other rows are kept.

#include <span>

#include "base/array.h"

namespace longhaul {

/// Adds to column[i] of every list the number of the list's last `rows` rows that see row i: `rows`
/// for earlier rows, and one less for each later row.
void add_seen(Queue& queue, int64_t rows, std::span<const View<float>> columns);
inline const DeviceOperation<bool(int64_t rows, std::span<const View<float>> columns)> kAddSeen;

/// Attention that each row of a list received so far from rows of the text, and the number of rows
/// that saw it: [rows] each.
struct AttentionSoFar {
  View<const float> sums, squares, seen;
};

struct SteadyRule {
  int64_t sink = 0;      ///< first rows, not scored
  int64_t settling = 0;  ///< last rows: seen by too few rows to be scored
  int64_t feasible =
      0;  ///< largest number of scored rows; rows with the smallest variance are scored
};

struct SteadyList {
  AttentionSoFar got;
  SteadyRule rule;
  View<float> scores;  ///< [rows]: result

  bool lies_on(Place place) const { return scores.place() == place; }
};

/// Scores every list. The `feasible` rows with the smallest variance between the ends get their
/// mean attention as score, and all other rows get infinity. The lowest scores are evicted.
/// Variance that rounding alone causes for equal numbers counts as zero.
void steady_scores(Queue& queue, std::span<const SteadyList> lists, Array<float>& scratch);
inline const DeviceOperation<bool(std::span<const SteadyList>)> kSteadyScores;

}  // namespace longhaul
