#pragma once
// The report's tables, as HTML and Markdown print them.

#include <cstdint>

#include "report/compare.h"
#include "report/groups.h"
#include "report/recall.h"
#include "report/results.h"
#include "report/table.h"

namespace longhaul {

/// Every method: its mean score at every length, and what it costs at `costs_at`.
ReportTable glance_table(const Results& results, int64_t costs_at);
/// Every method that answered at this length: its mean, its score in every task, its costs.
ReportTable length_table(const Results& results, int64_t length);
/// Every method's scores in a task, with intervals, by length.
ReportTable task_table(const Results& results, size_t variant);
/// Groups down, methods across.
ReportTable group_table(const Results& results, size_t variant, const GroupTable& groups);
/// Layers across.
ReportTable layer_table(const Results& results, const RecallTable& recall);
/// Differences from dense attention, tasks across (Comparison::over_lengths).
ReportTable difference_table(const Results& results, const Comparison& comparison);

/// The first `most` answers that were never given; `count`: of all.
ReportTable error_table(const Results& results, size_t most, size_t& count);
/// A few of the answers that score below a half; `count`: of all.
ReportTable wrong_table(const Results& results, size_t& count);

}  // namespace longhaul
