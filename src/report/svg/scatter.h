#pragma once
// Quality against a cost or a saving: one point per method, its name beside it; the frontier of
// those that no other one beats in both, or curves through the settings of each method.

#include <string>
#include <utility>
#include <vector>

#include "report/svg/axis.h"
#include "report/svg/svg.h"

namespace longhaul {

struct ScatterPoint {
  std::string label;
  size_t style = 0;  ///< chart_style.h
  double x = 0;      ///< the cost or saving; above 0 on a logarithmic axis
  double y = 0;      ///< the quality: more is better
  std::string tooltip;
  std::string family;  ///< points of one are joined by ascending x; "": by itself
};

struct Scatter {
  std::string title, x_title, y_title;
  Unit x_unit = Unit::kPlain, y_unit = Unit::kPercent;
  bool log_x = false;
  bool frontier = false;                               ///< x is a cost: less is better
  std::vector<std::pair<std::string, double>> levels;  ///< dashed lines across, named
  std::vector<ScatterPoint> points;
};

/// Indices by ascending cost of the points that no other point equals or beats in both and beats in
/// one. Of equal points the first stands.
std::vector<size_t> pareto_frontier(const std::vector<ScatterPoint>& points);

/// At least one point.
Svg draw(const Scatter& chart);

}  // namespace longhaul
