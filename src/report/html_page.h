#pragma once
// Writes the report as one HTML page. It begins with a verdict and has inline charts. The page
// loads nothing from the network.

#include <string>

#include "report/results.h"

namespace longhaul {

/// Returns the whole HTML document. All texts of runs and records are escaped.
std::string html_report(const Results& results);

/// Parts of the page (html_sections.cc): html_verdict() is the first part, and html_sections() are
/// the parts after the navigation.
std::string html_verdict(const Results& results);
std::string html_sections(const Results& results);

}  // namespace longhaul
