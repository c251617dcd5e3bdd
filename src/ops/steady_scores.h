#pragma once
// RoCo's judgement of a list (arXiv:2402.06262): of the rows whose attention varies least from row
// to row of the text, those that get least on average leave; the others are left alone.

#include "base/array.h"

namespace longhaul {

/// column[i] += how many of the last `rows` rows of a list see row i: `rows` for what was there
/// before them, one less for each of them that is later.
void add_seen(Queue& queue, int64_t rows, View<float> column);

/// What rows of the text gave each row of a list so far, and how many of them saw it: [rows] each.
struct AttentionSoFar {
  View<const float> sums, squares, seen;
};

struct SteadyRule {
  int64_t sink = 0;                    ///< first rows: not judged
  int64_t settling = 0;                ///< last rows: seen by too few to be judged
  int64_t feasible = 0;                ///< rows that are judged at most: the steadiest
  Array<float>* steadiness = nullptr;  ///< scratch
};

/// scores [rows]: the mean attention of the `feasible` rows between the ends whose variance is
/// smallest, infinity for all others: a cut takes the lowest. What rounding alone makes of the
/// variance of equal numbers counts as none.
void steady_scores(Queue& queue, const AttentionSoFar& got, const SteadyRule& rule,
                   View<float> scores);

}  // namespace longhaul
