#pragma once
// The report as one page: no script, no request, charts inline.

#include <string>

#include "report/compare.h"
#include "report/results.h"

namespace longhaul {

/// A whole document. Every text of runs and records is escaped.
std::string html_report(const Results& results);

/// Sections, in files of their own; each is "" when it has nothing to show.
std::string html_glance(const Results& results);
std::string html_frontiers(const Results& results);
std::string html_matrix(const Results& results);
std::string html_tasks(const Results& results);
std::string html_recall(const Results& results);
std::string html_costs(const Results& results);
std::string html_differences(const Results& results);
std::string html_failures(const Results& results);
std::string html_what_was_run(const Results& results);

}  // namespace longhaul
