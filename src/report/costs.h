#pragma once
// What a method costs at a length, and how well it does over all tasks there.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Over the answers of all tasks of this length (perplexity left out).
Cost cost_at(const Results& results, size_t series, int64_t length);

/// The mean of the means of all task variants that any method answered at this length (perplexity
/// left out); none where the series lacks one of them.
std::optional<double> quality_at(const Results& results, size_t series, int64_t length);

/// Lengths that were asked for with a score other than perplexity; 0, the samples' own, first.
std::vector<int64_t> scored_lengths(const Results& results);

/// What a method does and costs over all tasks: a row of "At a glance".
struct Glance {
  std::vector<std::optional<double>> quality;  ///< by length
  std::optional<int64_t> costs_at;  ///< the longest length with a known time; none: no such one
  Cost cost;                        ///< there
};
/// `lengths` ascending, as scored_lengths() gives them.
Glance glance_of(const Results& results, size_t series, const std::vector<int64_t>& lengths);

/// First token, tokens/s, KV cache, pairs in per cent, as tables print them; "" where not known.
std::vector<std::string> cost_texts(const Cost& cost);

/// Style of a series in charts: 0 for the first dense one, then counted.
size_t style_of(const Results& results, size_t series);

}  // namespace longhaul
