#pragma once
// Places the labels of points such that labels cover neither points nor each other.

#include <string>
#include <vector>

#include "report/svg/axis.h"
#include "report/svg/svg.h"

namespace longhaul {

struct PlacedLabel {
  Point at;  ///< anchor point on the baseline of the text
  Anchor anchor = Anchor::kStart;
  bool far = false;  ///< whether a line must connect the point and the text
};

/// Returns one label position per point, within the frame if there is room. Labels are placed one
/// after another, those of isolated points first. `lines` are horizontal and vertical lines that
/// labels should not cover.
std::vector<PlacedLabel> place_labels(const std::vector<Point>& points,
                                      const std::vector<std::string>& texts, const Frame& frame,
                                      const std::vector<std::pair<Point, Point>>& lines = {});

/// Returns the y positions of labels in a column. They are as close to `wanted` as possible, but at
/// least `gap` apart and between `top` and `bottom`.
std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double top,
                                  double bottom);

}  // namespace longhaul
