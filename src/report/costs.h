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
/// left out); none where the series lacks one of them.
std::optional<double> quality_at(const Results& results, size_t series, int64_t length);

/// Lengths that were asked for (0, the samples' own, left out) with a score other than perplexity.
std::vector<int64_t> scored_lengths(const Results& results);

/// Style of a series in charts: 0 for the first dense one, then counted.
size_t style_of(const Results& results, size_t series);

}  // namespace longhaul
