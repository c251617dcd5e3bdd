#pragma once
// What a method costs at a length, and how well it does over all tasks there.

#include <cstdint>
#include <optional>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Over the answers of all tasks of this length (perplexity left out).
Cost cost_at(const Results& results, size_t series, int64_t length);

/// The mean of the means of all task variants that any method answered at this length (perplexity
/// left out); none where the series lacks one of them. Its interval is that of a sum of independent
/// estimates, from theirs (MOVER: Zou and Donner 2008, Statistics in Medicine 27); `n`: answers.
std::optional<Estimate> quality_at(const Results& results, size_t series, int64_t length);

/// Lengths that were asked for with a score other than perplexity; 0, the samples' own, first.
std::vector<int64_t> scored_lengths(const Results& results);

/// The longest of the lengths at which most methods have answered all tasks: where costs are
/// compared. None where nothing was scored.
std::optional<int64_t> main_length(const Results& results);

/// The series that the other methods of a run are compared with at a length: dense attention, or
/// the best method where dense did not answer. None where no method answered all tasks.
std::optional<size_t> measure_at(const Results& results, size_t run, int64_t length);

/// Style of a series in charts: 0 for the first dense one, then counted.
size_t style_of(const Results& results, size_t series);

}  // namespace longhaul
