#pragma once
// Makes the tables of the report for HTML and Markdown.

#include <cstdint>

#include "report/compare.h"
#include "report/groups.h"
#include "report/recall.h"
#include "report/results.h"
#include "report/table.h"

namespace longhaul {

/// A row per method, with its mean score at every length and its costs at length `costs_at`.
ReportTable glance_table(const Results& results, int64_t costs_at);
/// A row per method with answers at this length, with its mean score, its score in every task and
/// its costs.
ReportTable length_table(const Results& results, int64_t length);
/// A row per method, with its scores in a task by length, with intervals.
ReportTable task_table(const Results& results, size_t variant);
/// A row per group and a column per method.
ReportTable group_table(const Results& results, size_t variant, const GroupTable& groups);
/// A row per method and a column per layer.
ReportTable layer_table(const Results& results, const RecallTable& recall);
/// Differences from dense attention, with a column per task (Comparison::over_lengths).
ReportTable difference_table(const Results& results, const Comparison& comparison);

/// The first `most` missing answers; `count` is the total.
ReportTable error_table(const Results& results, size_t most, size_t& count);
/// Some of the answers that score below a half; `count` is the total.
ReportTable wrong_table(const Results& results, size_t& count);

}  // namespace longhaul
