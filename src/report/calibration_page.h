#pragma once
// Writes the results of `longhaul calibrate` for a model as one HTML page. The charts are part of
// the page. The page has no scripts and loads nothing from the network.

#include <string>
#include <vector>

#include "report/svg/svg.h"
#include "report/table.h"

namespace longhaul {

struct CalibrationSection {
  std::string id;     ///< anchor of the section: one word
  std::string title;  ///< name of the method
  std::string found;  ///< one or two sentences that describe the result
  std::vector<Svg> charts = {};
  std::vector<ReportTable> tables = {};
  std::string note = {};  ///< explanation of the charts and tables
};

struct CalibrationPage {
  std::string title, subtitle;
  /// One sentence for each part of the calibration that was skipped or not finished.
  std::vector<std::string> warnings;
  std::vector<CalibrationSection> sections;
};

/// Returns the whole HTML document. Special characters of HTML in all texts are escaped.
std::string html_calibration(const CalibrationPage& page);

}  // namespace longhaul
