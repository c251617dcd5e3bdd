#pragma once
// Creates the tables of the report from its results (report/results.h). `variant` is the index of a
// task in Results::variants().

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
/// Returns one row per method, with its score and interval in one task at each length.
ReportTable task_table(const Results& results, size_t variant);
/// Returns the scores in one task at one length, with one row per group of samples and one column
/// per method.
ReportTable group_table(const Results& results, size_t variant, const GroupTable& groups);
/// Returns the recall at one length (report/recall.h), with one row per method and one column per
/// layer.
ReportTable layer_table(const Results& results, const RecallTable& recall);
/// Returns the differences of methods from dense attention over all lengths
/// (Comparison::over_lengths), with one column per task.
ReportTable difference_table(const Results& results, const Comparison& comparison);

/// Returns the first `most` answers that failed (Record::error), with the reason. `count` receives
/// the number of all failed answers.
ReportTable error_table(const Results& results, size_t most, size_t& count);
/// Returns some of the answers whose score is below 0.5. `count` receives the number of all such
/// answers.
ReportTable wrong_table(const Results& results, size_t& count);

}  // namespace longhaul
