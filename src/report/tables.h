#pragma once
// The report's tables for HTML and Markdown.

#include <cstdint>

#include "report/compare.h"
#include "report/groups.h"
#include "report/recall.h"
#include "report/results.h"
#include "report/table.h"

namespace longhaul {

/// Every method: its mean score at every length, and its costs at `costs_at`.
ReportTable glance_table(const Results& results, int64_t costs_at);
/// Every method with answers at this length: its mean, its score in every task, its costs.
ReportTable length_table(const Results& results, int64_t length);
/// Every method's scores in a task, with intervals, by length.
ReportTable task_table(const Results& results, size_t variant);
/// Groups as rows, methods as columns.
ReportTable group_table(const Results& results, size_t variant, const GroupTable& groups);
/// Layers as columns.
ReportTable layer_table(const Results& results, const RecallTable& recall);
/// Differences from dense attention, tasks as columns (Comparison::over_lengths).
ReportTable difference_table(const Results& results, const Comparison& comparison);

/// The first `most` missing answers; `count` is the total.
ReportTable error_table(const Results& results, size_t most, size_t& count);
/// Some of the answers that score below a half; `count` is the total.
ReportTable wrong_table(const Results& results, size_t& count);

}  // namespace longhaul
