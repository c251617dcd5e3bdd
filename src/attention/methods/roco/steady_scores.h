#pragma once
// Computes RoCo's scores (arXiv:2402.06262). A stored row is steady if the attention that it
// receives varies little between query rows. Among the steady rows, those with the least average
// attention are evicted. All other rows are kept. A list holds the stored rows of one KV head.

#include <span>

#include "base/array.h"

namespace longhaul {

/// Adds to column[i] of each list how many of the list's last `rows` rows see row i. Each of these
/// rows sees itself and all earlier rows of the list.
void add_seen(Queue& queue, int64_t rows, std::span<const View<float>> columns);
inline const DeviceOperation<bool(int64_t rows, std::span<const View<float>> columns)> kAddSeen;

/// The attention that each row of a list has received so far: sum, sum of squares, and the number
/// of rows that saw it. Each array is [rows].
struct AttentionSoFar {
  View<const float> sums, squares, seen;
};

struct SteadyRule {
  int64_t sink = 0;  ///< number of first rows that are not scored
  /// Number of last rows that are not scored, because too few rows have seen them.
  int64_t settling = 0;
  int64_t feasible =
      0;  ///< largest number of scored rows, which are those with the smallest variance
};

struct SteadyList {
  AttentionSoFar got;
  SteadyRule rule;
  View<float> scores;  ///< [rows]: result

  bool lies_on(Place place) const { return scores.place() == place; }
};

/// Computes the scores of every list. Among the rows between the ends, the `feasible` rows with the
/// smallest variance get their mean attention as score. All other rows get infinity. The lowest
/// scores are evicted. A variance that rounding alone can cause counts as zero.
void steady_scores(Queue& queue, std::span<const SteadyList> lists, Array<float>& scratch);
inline const DeviceOperation<bool(std::span<const SteadyList>)> kSteadyScores;

}  // namespace longhaul
