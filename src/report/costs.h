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
/// (without perplexity). The result is empty if the series lacks one of these variants. The
/// interval is that of a sum of independent estimates, computed from their intervals (MOVER: Zou
/// and Donner 2008, Statistics in Medicine 27). `n` is the number of answers.
std::optional<Estimate> quality_at(const Results& results, size_t series, int64_t length);

/// Returns the lengths with a score other than perplexity, in ascending order. Length 0 represents
/// samples with lengths of their own.
std::vector<int64_t> scored_lengths(const Results& results);

/// Returns the length at which costs are compared: the length at which the most methods have
/// answered all tasks. If there are several, it is the longest. The result is empty if there are no
/// scores.
std::optional<int64_t> main_length(const Results& results);

/// Returns the reference series of a run at a length. It is dense attention, or the best method if
/// dense attention has no answers. The result is empty if no method answered all tasks.
std::optional<size_t> measure_at(const Results& results, size_t run, int64_t length);

/// Returns the style number of a series in charts. The first series with dense attention has style
/// 0, and the other series have consecutive numbers.
size_t style_of(const Results& results, size_t series);

}  // namespace longhaul
