#pragma once
// Compares the answers of two methods, or of one method in two runs, to the same samples.

#include <optional>
#include <string>
#include <vector>

#include "report/results.h"
#include "report/statistics/paired.h"

namespace longhaul {

struct Difference {
  size_t a = 0, b = 0;  ///< indices of series; the difference is b - a
  size_t variant = 0;
  std::optional<int64_t> length;  ///< empty: all common lengths
  PairedDifference paired;        ///< computed from the samples that both answered
  double p_holm = 1;  ///< p value with Holm's correction for all differences in the same list
  /// Number of samples that the other series lacks; they are not counted.
  int64_t only_a = 0, only_b = 0;
  int64_t other_prompts = 0;  ///< pairs with different prompts: another seed, template or tokenizer
  /// Returns whether the difference is significant, with p below 5 % after the correction.
  bool real() const { return p_holm < 0.05; }
};

struct Comparison {
  std::vector<Difference> over_lengths;  ///< one row per pair of series and task
  std::vector<Difference> by_length;     ///< one row per pair of series, task and length
};

/// Compares the pairs (a, b) of series. A pair yields no row for a task and length without common
/// samples.
Comparison compare_series(const Results& results,
                          const std::vector<std::pair<size_t, size_t>>& pairs);

/// Pairs every method of a run, except baselines, with the method `method` of the same run
/// ("dense", a label or a canonical text). Throws UserError if no run has this method.
std::vector<std::pair<size_t, size_t>> pairs_against(const Results& results,
                                                     const std::string& method);
/// Returns the pairs with dense attention. Runs without dense attention are skipped.
std::vector<std::pair<size_t, size_t>> pairs_against_dense(const Results& results);
/// Returns the pair of series `a` and `b` for every run that has both.
std::vector<std::pair<size_t, size_t>> pairs_of_methods(const Results& results,
                                                        const std::string& a, const std::string& b);
/// Pairs equal methods of the first and the second run. If each run has only one method, these two
/// methods are a pair. The result ends with the pairs of equal baselines. Throws UserError if both
/// runs have methods but there is no pair.
std::vector<std::pair<size_t, size_t>> pairs_of_runs(const Results& results);

}  // namespace longhaul
