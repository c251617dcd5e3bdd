#pragma once
// Costs of a method at a length, and its quality over all tasks there.

#include <cstdint>
#include <optional>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Over the answers of all tasks with this length (without perplexity).
Cost cost_at(const Results& results, size_t series, int64_t length);

/// The mean of the means of all task variants answered by any method at this length (without
/// perplexity); none if the series lacks one of them. Its interval is that of a sum of independent
/// estimates, derived from their intervals (MOVER: Zou and Donner 2008, Statistics in Medicine 27);
/// `n` is the number of answers.
std::optional<Estimate> quality_at(const Results& results, size_t series, int64_t length);

/// Lengths with a score other than perplexity; 0, the samples' own, first.
std::vector<int64_t> scored_lengths(const Results& results);

/// Length for comparing costs: the longest of the lengths at which most methods have answered all
/// tasks. None without scores.
std::optional<int64_t> main_length(const Results& results);

/// Reference series of a run at a length: dense attention, or the best method if dense has no
/// answers. None if no method answered all tasks.
std::optional<size_t> measure_at(const Results& results, size_t run, int64_t length);

/// Style of a series in charts: 0 for the first dense one, then consecutive numbers.
size_t style_of(const Results& results, size_t series);

}  // namespace longhaul
