#pragma once
// Places labels of points so that they cover neither points nor each other.

#include <string>
#include <vector>

#include "report/svg/axis.h"
#include "report/svg/svg.h"

namespace longhaul {

struct PlacedLabel {
  Point at;  ///< baseline of the text, at its anchor
  Anchor anchor = Anchor::kStart;
  bool far = false;  ///< needs a line from the point to the text
};

/// Returns one position per point, within the frame if there is room. The algorithm is greedy and
/// begins with isolated points. `lines` are horizontal and vertical strokes that labels should
/// avoid.
std::vector<PlacedLabel> place_labels(const std::vector<Point>& points,
                                      const std::vector<std::string>& texts, const Frame& frame,
                                      const std::vector<std::pair<Point, Point>>& lines = {});

/// Returns the baselines of labels in a column, as close to `wanted` as the spacing `gap` and the
/// two ends allow.
std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double top,
                                  double bottom);

}  // namespace longhaul
