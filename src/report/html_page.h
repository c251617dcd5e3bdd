#pragma once
// Writes the report as one HTML page. The page begins with a verdict (report/verdict.h). The charts
// are part of the page, and it loads nothing from the network.

#include <string>

#include "report/results.h"

namespace longhaul {

/// Returns the whole HTML document. Special characters of HTML in texts of runs and records are
/// escaped.
std::string html_report(const Results& results);

/// html_verdict() returns the HTML of the verdict, with which the page begins. html_sections()
/// returns the HTML of everything after the navigation. html_report() calls both.
std::string html_verdict(const Results& results);
std::string html_sections(const Results& results);

}  // namespace longhaul
