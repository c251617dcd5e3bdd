#pragma once
// Draws a scatter chart with one labelled point per method: the quality of the method against its
// cost or its saving. The chart can show the Pareto frontier, or connect the points of the same
// method with different options.

#include <string>
#include <utility>
#include <vector>

#include "report/svg/axis.h"
#include "report/svg/svg.h"

namespace longhaul {

struct ScatterPoint {
  std::string label;
  size_t style = 0;  ///< number of the style (chart_style.h)
  double x = 0;      ///< the cost or saving; positive if the axis is logarithmic
  double y = 0;      ///< the quality; higher is better
  std::string tooltip;
  /// Points of the same family are connected in the order of x; empty: not connected.
  std::string family;
};

struct Scatter {
  std::string title, x_title, y_title;
  Unit x_unit = Unit::kPlain, y_unit = Unit::kPercent;
  bool log_x = false;
  /// Whether to draw the Pareto frontier; x must be a cost (lower is better).
  bool frontier = false;
  /// Dashed horizontal lines, with their labels.
  std::vector<std::pair<std::string, double>> levels;
  std::vector<ScatterPoint> points;
};

/// Returns the indices of the points on the Pareto frontier, in ascending order of cost. A point is
/// on the frontier unless another point is at least as good in cost and quality and better in one
/// of them. If several points are equal, only the first is returned.
std::vector<size_t> pareto_frontier(const std::vector<ScatterPoint>& points);

/// Draws the chart. It must have at least one point.
Svg draw(const Scatter& chart);

}  // namespace longhaul
