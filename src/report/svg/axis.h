#pragma once
// Defines the axes of charts: they map numbers to positions in a picture, and have ticks.

#include <string>
#include <vector>

#include "report/svg/svg.h"

namespace longhaul {

enum class Unit { kPlain, kPercent, kTokens, kSeconds, kBytes, kPerSecond };

struct Axis {
  double low = 0, high = 1;  ///< numbers at the two ends; positive if `log` is true
  bool log = false;
  Unit unit = Unit::kPlain;
  double from = 0, to = 1;  ///< positions of the two ends in the picture
  std::vector<double> ticks;

  double at(double value) const;
};

/// Returns an axis that contains all `values`, with round numbers at its ends and about `count`
/// ticks. There must be at least one value, and all values must be positive if `log` is true.
/// Percent axes stay within 0 to 1. Logarithmic axes have a margin at both ends.
Axis make_axis(const std::vector<double>& values, Unit unit, bool log, int count);

std::string tick_text(double value, Unit unit);

/// The frame of a chart: the rectangle in which curves or points are drawn. The coordinates are
/// positions in the picture.
struct Frame {
  double left = 0, top = 0, right = 0, bottom = 0;
};
/// Draws the grid lines, ticks and titles of both axes, and sets Axis::from and Axis::to to the
/// edges of the frame. x increases from left to right, and y from bottom to top. Ticks whose texts
/// would overlap are omitted.
void draw_axes(Svg& svg, const Frame& frame, Axis& x, Axis& y, const std::string& x_title,
               const std::string& y_title);

}  // namespace longhaul
