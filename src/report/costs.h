#pragma once
// Computes the costs of a method at a length, and its quality over all tasks of this length.

#include <cstdint>
#include <optional>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Returns the costs over the answers of all tasks with this length (without perplexity).
Cost cost_at(const Results& results, size_t series, int64_t length);

/// Returns the mean over the means of all task variants that any method has answered at this length
/// (without perplexity). There is no result if the series lacks one of these variants. The interval
/// is that of a sum of independent estimates and is derived from their intervals (MOVER: Zou and
/// Donner 2008, Statistics in Medicine 27). `n` is the number of answers.
std::optional<Estimate> quality_at(const Results& results, size_t series, int64_t length);

/// Returns the lengths with a score other than perplexity, in ascending order. 0 stands for samples
/// with their own lengths.
std::vector<int64_t> scored_lengths(const Results& results);

/// Returns the length at which costs are compared. It is the length at which the largest number of
/// methods have answered all tasks, and the longest one of several. There is no result without
/// scores.
std::optional<int64_t> main_length(const Results& results);

/// Returns the reference series of a run at a length: dense attention, or the best method if dense
/// attention has no answers. There is no result if no method answered all tasks.
std::optional<size_t> measure_at(const Results& results, size_t run, int64_t length);

/// Returns the style of a series in charts. It is 0 for the first series with dense attention;
/// other series have consecutive numbers.
size_t style_of(const Results& results, size_t series);

}  // namespace longhaul
