#pragma once
// Draws a chart with curves. The name of each curve is at its right end.

#include <string>
#include <vector>

#include "report/svg/axis.h"
#include "report/svg/svg.h"

namespace longhaul {

struct LinePoint {
  double x = 0, y = 0;  ///< must be positive on a logarithmic axis
  std::string tooltip;
};

struct LineSeries {
  std::string label;
  size_t style = 0;               ///< number of the style (chart_style.h)
  std::vector<LinePoint> points;  ///< in ascending order of x; at least one
};

struct LineChart {
  std::string title, x_title, y_title;
  Unit x_unit = Unit::kTokens, y_unit = Unit::kPlain;
  bool log_x = true, log_y = false;
  std::vector<double> x_ticks;  ///< empty: chosen automatically
  std::vector<LineSeries> series;
};

/// Draws the chart. It must have at least one series.
Svg draw(const LineChart& chart);

}  // namespace longhaul
