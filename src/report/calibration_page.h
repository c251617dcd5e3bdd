#pragma once
// What `longhaul calibrate` found of a model, as one page: charts inline, no request, no script.

#include <string>
#include <vector>

#include "report/svg/svg.h"
#include "report/table.h"

namespace longhaul {

struct CalibrationSection {
  std::string id;     ///< in the page's address: a word
  std::string title;  ///< the method
  std::string found;  ///< one or two sentences
  std::vector<Svg> charts = {};
  std::vector<ReportTable> tables = {};
  std::string note = {};  ///< how to read it
};

struct CalibrationPage {
  std::string title, subtitle;
  std::vector<std::string> warnings;  ///< what is not finished or was left out
  std::vector<CalibrationSection> sections;
};

/// A whole document. Every text is escaped.
std::string html_calibration(const CalibrationPage& page);

}  // namespace longhaul
