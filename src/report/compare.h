#pragma once
// Statistical comparison: the same samples answered by two methods, or by one method in two runs.

#include <optional>
#include <string>
#include <vector>

#include "report/results.h"
#include "report/statistics/paired.h"

namespace longhaul {

struct Difference {
  size_t a = 0, b = 0;  ///< series; the difference is b - a
  size_t variant = 0;
  std::optional<int64_t> length;   ///< none: all common lengths
  PairedDifference paired;         ///< over the samples answered by both
  double p_holm = 1;               ///< corrected for all differences in its list
  int64_t only_a = 0, only_b = 0;  ///< samples missing on the other side: not counted
  int64_t other_prompts = 0;  ///< pairs with different prompts: another seed, template or tokenizer
  /// Significant: below 5 % after the correction.
  bool real() const { return p_holm < 0.05; }
};

struct Comparison {
  std::vector<Difference> over_lengths;  ///< one row per (pair of series, task)
  std::vector<Difference> by_length;     ///< additionally per length
};

/// `pairs` are pairs of series (a, b). Cells without common samples give no row.
Comparison compare_series(const Results& results,
                          const std::vector<std::pair<size_t, size_t>>& pairs);

/// Every method of every run paired with the one called `method` in it ("dense", a label or a
/// canonical text), without baselines. UserError if no run has it.
std::vector<std::pair<size_t, size_t>> pairs_against(const Results& results,
                                                     const std::string& method);
/// Pairs with dense attention, for the runs that have it.
std::vector<std::pair<size_t, size_t>> pairs_against_dense(const Results& results);
/// The series called `a` and `b` in every run that has both.
std::vector<std::pair<size_t, size_t>> pairs_of_methods(const Results& results,
                                                        const std::string& a, const std::string& b);
/// Equal methods of the first and the second run, or the only one of each; then their baselines.
/// UserError if both have methods but no pair.
std::vector<std::pair<size_t, size_t>> pairs_of_runs(const Results& results);

}  // namespace longhaul
