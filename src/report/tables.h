#pragma once
// Creates the tables of the report for HTML and Markdown.

#include <cstdint>

#include "report/compare.h"
#include "report/groups.h"
#include "report/recall.h"
#include "report/results.h"
#include "report/table.h"

namespace longhaul {

/// Returns one row per method, with its mean score at every length and its costs at length
/// `costs_at`.
ReportTable glance_table(const Results& results, int64_t costs_at);
/// Returns one row per method that has answers at this length, with its mean score, its score in
/// every task, and its costs.
ReportTable length_table(const Results& results, int64_t length);
/// Returns one row per method, with its scores and intervals in a task by length.
ReportTable task_table(const Results& results, size_t variant);
/// Returns one row per group and one column per method.
ReportTable group_table(const Results& results, size_t variant, const GroupTable& groups);
/// Returns one row per method and one column per layer.
ReportTable layer_table(const Results& results, const RecallTable& recall);
/// Returns the differences from dense attention, with one column per task
/// (Comparison::over_lengths).
ReportTable difference_table(const Results& results, const Comparison& comparison);

/// Returns the first `most` missing answers. `count` receives the total number.
ReportTable error_table(const Results& results, size_t most, size_t& count);
/// Returns some of the answers with scores below 0.5. `count` receives the total number.
ReportTable wrong_table(const Results& results, size_t& count);

}  // namespace longhaul
