#pragma once
// Computes the scores of RoCo (arXiv:2402.06262). A stored row is steady if the attention that it
// receives varies little between query rows. Among the steady rows, those with the lowest average
// attention are evicted. Rows that are not steady are kept. A list holds the stored rows of one KV
// head.

#include <span>

#include "base/array.h"

namespace longhaul {

/// Each list has one column, with one element per stored row. Adds to element i the number of query
/// rows that see stored row i. The query rows belong to the last `rows` tokens of the list. Each of
/// them sees the stored row of its own token and all earlier stored rows.
void add_seen(Queue& queue, int64_t rows, std::span<const View<float>> columns);
inline const DeviceOperation<bool(int64_t rows, std::span<const View<float>> columns)> kAddSeen;

/// The attention that each row of a list has received so far. Each array is [rows]. `sums` holds
/// the sum of the row's attention over query rows, `squares` the sum of the squares, and `seen` the
/// number of query rows that saw the row.
struct AttentionSoFar {
  View<const float> sums, squares, seen;
};

struct SteadyRule {
  int64_t sink = 0;  ///< number of first rows that must not be evicted
  /// Number of last rows that must not be evicted, because too few query rows have seen them.
  int64_t settling = 0;
  int64_t feasible = 0;  ///< largest number of steady rows, which have the smallest variance
};

struct SteadyList {
  AttentionSoFar got;
  SteadyRule rule;
  View<float> scores;  ///< [rows]: result

  bool lies_on(Place place) const { return scores.place() == place; }
};

/// Computes the scores of every list. Without the first `sink` and the last `settling` rows, the
/// `feasible` rows with the smallest variance are the steady ones. Their score is the mean of their
/// attention. All other rows get the score infinity. A variance that is so small that it may
/// consist of rounding errors counts as zero.
void steady_scores(Queue& queue, std::span<const SteadyList> lists, Array<float>& scratch);
inline const DeviceOperation<bool(std::span<const SteadyList>)> kSteadyScores;

}  // namespace longhaul
