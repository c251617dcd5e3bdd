#pragma once
// RoCo's judgement of a list (arXiv:2402.06262): of the rows whose attention varies least from row
// to row of the text, those that get least on average leave; the others are left alone.

#include <span>

#include "base/array.h"

namespace longhaul {

/// To column[i] of every list: how many of its last `rows` rows see row i: `rows` for what was
/// there before them, one less for each of them that is later.
void add_seen(Queue& queue, int64_t rows, std::span<const View<float>> columns);

/// What rows of the text gave each row of a list so far, and how many of them saw it: [rows] each.
struct AttentionSoFar {
  View<const float> sums, squares, seen;
};

struct SteadyRule {
  int64_t sink = 0;      ///< first rows: not judged
  int64_t settling = 0;  ///< last rows: seen by too few to be judged
  int64_t feasible = 0;  ///< rows that are judged at most: the steadiest
};

struct SteadyList {
  AttentionSoFar got;
  SteadyRule rule;
  View<float> scores;  ///< [rows]: the result
};

/// Scores of every list: the mean attention of the `feasible` rows between the ends whose variance
/// is smallest, infinity for all others: a cut takes the lowest. What rounding alone makes of the
/// variance of equal numbers counts as none.
void steady_scores(Queue& queue, std::span<const SteadyList> lists, Array<float>& scratch);

}  // namespace longhaul
