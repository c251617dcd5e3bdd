#pragma once
// Quality against a cost or a saving: one labelled point per method, with the Pareto frontier of
// the points that no other one beats in both, or with curves through the settings of each method.

#include <string>
#include <utility>
#include <vector>

#include "report/svg/axis.h"
#include "report/svg/svg.h"

namespace longhaul {

struct ScatterPoint {
  std::string label;
  size_t style = 0;  ///< chart_style.h
  double x = 0;      ///< the cost or saving; positive on a logarithmic axis
  double y = 0;      ///< the quality: higher is better
  std::string tooltip;
  std::string family;  ///< points of one family are joined by ascending x; "": not joined
};

struct Scatter {
  std::string title, x_title, y_title;
  Unit x_unit = Unit::kPlain, y_unit = Unit::kPercent;
  bool log_x = false;
  bool frontier = false;                               ///< x is a cost: lower is better
  std::vector<std::pair<std::string, double>> levels;  ///< labelled dashed horizontal lines
  std::vector<ScatterPoint> points;
};

/// Indices, by ascending cost, of the points that no other point equals or beats in both and beats
/// in one. Of equal points the first is kept.
std::vector<size_t> pareto_frontier(const std::vector<ScatterPoint>& points);

/// Requires at least one point.
Svg draw(const Scatter& chart);

}  // namespace longhaul
