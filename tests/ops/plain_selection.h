#pragma once
// Selections of rows by their definition, one row after the other.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "ops/choose/select_rows.h"

namespace longhaul::testing_support {

using ChosenRows = std::vector<int32_t>;
using RowScores = std::vector<float>;

inline constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline ChosenRows rows_of(const RowList& list) {
  const auto rows = host_rows(list);
  return {rows.begin(), rows.end()};
}

/// Scores with few different values, some of them NaN, infinite or minus zero.
inline RowScores scores_with_ties(size_t n, std::mt19937& random) {
  constexpr float kOdd[] = {kNone, kInfinity, -kInfinity, -0.0f, 0.0f};
  RowScores scores(n);
  for (float& s : scores) {
    const auto r = random() % 40;
    s = r < 5 ? kOdd[r] : static_cast<float>(r % 7) - 3.0f;
  }
  return scores;
}

/// A row's rank for selection; the lowest is kept first.
using Ranked = std::tuple<double, size_t, int32_t>;  // minus the score, list, row
inline Ranked ranked(size_t list, int32_t row, float score) {
  return {std::isnan(score) ? kInfinity : -score, list, row};
}

/// Selects the best of `rivals` one by one.
inline std::vector<Ranked> best_scored(std::vector<Ranked> rivals, int64_t count) {
  std::vector<Ranked> best;
  for (int64_t i = 0; i < count; ++i) {
    const auto next = std::min_element(rivals.begin(), rivals.end());
    best.push_back(*next);
    rivals.erase(next);
  }
  return best;
}

inline ChosenRows plain_selection(const RowScores& scores, const RowsToKeep& keep) {
  const auto n = std::ssize(scores);
  ChosenRows rows;
  std::vector<Ranked> rivals;
  for (int32_t row = 0; row < n; ++row) {
    if (n <= keep.count || row < keep.first || row >= n - keep.last) {
      rows.push_back(row);
    } else {
      rivals.push_back(ranked(0, row, scores[static_cast<size_t>(row)]));
    }
  }
  if (n > keep.count) {
    for (const auto& p : best_scored(rivals, keep.count - keep.first - keep.last)) {
      rows.push_back(std::get<2>(p));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace longhaul::testing_support
