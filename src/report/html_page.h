#pragma once
// The report as one page: a verdict first, charts inline, no request.

#include <string>

#include "report/results.h"

namespace longhaul {

/// A whole document. Every text of runs and records is escaped.
std::string html_report(const Results& results);

/// Its parts, in html_sections.cc: the first one, and those behind the navigation.
std::string html_verdict(const Results& results);
std::string html_sections(const Results& results);

}  // namespace longhaul
