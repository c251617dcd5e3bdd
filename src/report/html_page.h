#pragma once
// The report as one page: a verdict first, inline charts, no requests.

#include <string>

#include "report/results.h"

namespace longhaul {

/// A whole document. All texts of runs and records are escaped.
std::string html_report(const Results& results);

/// Parts of the page, in html_sections.cc: the first one, and the parts after the navigation.
std::string html_verdict(const Results& results);
std::string html_sections(const Results& results);

}  // namespace longhaul
