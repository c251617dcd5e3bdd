#pragma once
// Computes the costs of a series at a length, and its quality, which is its mean score over all
// tasks of this length.

#include <cstdint>
#include <optional>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Returns the costs of a series: medians over its answers of this length in all tasks except
/// perplexity tasks.
Cost cost_at(const Results& results, size_t series, int64_t length);

/// Returns the quality of a series: the mean of its mean scores in all task variants that any
/// method has answered at this length, except perplexity tasks. The result is empty if the series
/// has no answers to one of these variants. The interval of this mean is computed from the
/// intervals of the variants, which are independent (MOVER: Zou and Donner 2008, Statistics in
/// Medicine 27). Estimate::n is the number of answers.
std::optional<Estimate> quality_at(const Results& results, size_t series, int64_t length);

/// Returns the lengths at which a task other than perplexity tasks has scores, in ascending order.
/// Length 0 represents samples that have their own lengths and not a requested one.
std::vector<int64_t> scored_lengths(const Results& results);

/// Returns the length at which the report compares costs. It is the length at which the most
/// methods have answered all tasks, or the longest of several such lengths. The result is empty if
/// there are no scores.
std::optional<int64_t> main_length(const Results& results);

/// Returns the reference series of a run at a length, with which other methods are compared. It is
/// dense attention if dense attention has answered all tasks at this length. Otherwise it is the
/// method with the highest quality among those that have. The result is empty if no method has.
std::optional<size_t> measure_at(const Results& results, size_t run, int64_t length);

/// Returns the number of the series' style in charts (svg/chart_style.h). The first series with
/// dense attention has style 0. The other series have the styles 1, 2, and so on.
size_t style_of(const Results& results, size_t series);

}  // namespace longhaul
