#pragma once
// Which differences are real: the same samples answered by two methods, or by one method in two
// runs.

#include <optional>
#include <string>
#include <vector>

#include "report/results.h"
#include "report/statistics/paired.h"

namespace longhaul {

struct Difference {
  size_t a = 0, b = 0;  ///< series; the difference is b - a
  size_t variant = 0;
  std::optional<int64_t> length;   ///< none: all lengths that both have
  PairedDifference paired;         ///< over the samples that both answered
  double p_holm = 1;               ///< corrected for all differences of the list it stands in
  int64_t only_a = 0, only_b = 0;  ///< samples that the other one lacks: not counted
  int64_t other_prompts = 0;  ///< pairs whose prompts differ: another seed, template or tokenizer
  /// Below 5 % after the correction.
  bool real() const { return p_holm < 0.05; }
};

struct Comparison {
  std::vector<Difference> over_lengths;  ///< a row per (pair of series, task)
  std::vector<Difference> by_length;     ///< and per length
};

/// Pairs of series (a, b). Cells that share no sample give no row.
Comparison compare_series(const Results& results,
                          const std::vector<std::pair<size_t, size_t>>& pairs);

/// Every method of every run against the one that is called `method` there ("dense", a label or a
/// canonical text), controls left out. UserError where no run has it.
std::vector<std::pair<size_t, size_t>> pairs_against(const Results& results,
                                                     const std::string& method);
/// The same against dense attention, in the runs that have it.
std::vector<std::pair<size_t, size_t>> pairs_against_dense(const Results& results);
/// The series called `a` and `b` in every run that has both.
std::vector<std::pair<size_t, size_t>> pairs_of_methods(const Results& results,
                                                        const std::string& a, const std::string& b);
/// Equal methods of the first and the second run, else the only one of each; then their controls.
/// UserError where both have methods and none of them is a pair.
std::vector<std::pair<size_t, size_t>> pairs_of_runs(const Results& results);

}  // namespace longhaul
