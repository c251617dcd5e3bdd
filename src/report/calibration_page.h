#pragma once
// Writes the results of `longhaul calibrate` for a model as one HTML page, with inline charts and
// without scripts. The page loads nothing from the network.

#include <string>
#include <vector>

#include "report/svg/svg.h"
#include "report/table.h"

namespace longhaul {

struct CalibrationSection {
  std::string id;     ///< anchor of the section: one word
  std::string title;  ///< name of the method
  std::string found;  ///< one or two sentences about the result
  std::vector<Svg> charts = {};
  std::vector<ReportTable> tables = {};
  std::string note = {};  ///< explanation for readers
};

struct CalibrationPage {
  std::string title, subtitle;
  std::vector<std::string> warnings;  ///< parts that were not finished or were skipped
  std::vector<CalibrationSection> sections;
};

/// Returns the whole HTML document. All texts are escaped.
std::string html_calibration(const CalibrationPage& page);

}  // namespace longhaul
