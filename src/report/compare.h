#pragma once
// Compares two series by the samples that both have answered. A series is a method of one run
// (report/results.h). The two series are two methods of the same run, or the same method in two
// runs. Functions that select a method accept its label (Series::label) or its canonical text, such
// as "snapkv:capacity=64" (Series::method).

#include <optional>
#include <string>
#include <vector>

#include "report/results.h"
#include "report/statistics/paired.h"

namespace longhaul {

struct Difference {
  /// Indices of the two series; the difference is the score of b minus that of a.
  size_t a = 0, b = 0;
  size_t variant = 0;             ///< index of the task in Results::variants()
  std::optional<int64_t> length;  ///< empty: all common lengths
  PairedDifference paired;        ///< computed from the samples that both series answered
  /// P value, with Holm's correction for the number of differences in the same list of Comparison.
  double p_holm = 1;
  /// Numbers of samples that only series a or only series b has answered. They are not compared.
  int64_t only_a = 0, only_b = 0;
  /// Number of compared samples whose prompts differ, because of another seed, template or
  /// tokenizer.
  int64_t other_prompts = 0;
  /// Returns whether the difference is significant, with p below 5 % after the correction.
  bool real() const { return p_holm < 0.05; }
};

struct Comparison {
  std::vector<Difference> over_lengths;  ///< one for each pair of series and each task
  std::vector<Difference> by_length;     ///< one for each pair of series, each task and each length
};

/// Compares the series of each pair (a, b). For a task and length without common samples, a pair
/// has no Difference.
Comparison compare_series(const Results& results,
                          const std::vector<std::pair<size_t, size_t>>& pairs);

/// Pairs every method of a run, except baselines, with the method `method` of the same run (a label
/// or a canonical text, such as "dense"). Throws UserError if no run has this method.
std::vector<std::pair<size_t, size_t>> pairs_against(const Results& results,
                                                     const std::string& method);
/// Pairs every method of a run, except baselines, with dense attention in the same run. Runs
/// without dense attention are skipped.
std::vector<std::pair<size_t, size_t>> pairs_against_dense(const Results& results);
/// Returns the pair (a, b) for every run that has both methods. Throws UserError if no run has
/// both.
std::vector<std::pair<size_t, size_t>> pairs_of_methods(const Results& results,
                                                        const std::string& a, const std::string& b);
/// `results` must consist of two runs. Pairs each method of the first run with the same method of
/// the second run. If each run has only one method, these two methods are a pair even if they
/// differ. Baselines that both runs have are also paired; these pairs come last. Throws UserError
/// if both runs have methods but there is no pair.
std::vector<std::pair<size_t, size_t>> pairs_of_runs(const Results& results);

}  // namespace longhaul
