#pragma once
// Places labels of points so that they cover neither points nor each other.

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

/// Returns one position per point, within the frame if there is room. The algorithm is greedy and
/// begins with isolated points. `lines` are horizontal and vertical lines that labels should avoid.
std::vector<PlacedLabel> place_labels(const std::vector<Point>& points,
                                      const std::vector<std::string>& texts, const Frame& frame,
                                      const std::vector<std::pair<Point, Point>>& lines = {});

/// Returns the baselines of labels in a column. They are as close to `wanted` as the spacing `gap`
/// and the two ends permit.
std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double top,
                                  double bottom);

}  // namespace longhaul
