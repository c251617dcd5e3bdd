#pragma once
// Where names of points go so that they cover neither points nor each other.

#include <string>
#include <vector>

#include "report/svg/axis.h"
#include "report/svg/svg.h"

namespace longhaul {

struct PlacedLabel {
  Point at;  ///< of the text's baseline, at its anchor
  Anchor anchor = Anchor::kStart;
  bool far = false;  ///< a line from the point to the text is needed
};

/// One place per point, within the frame where there is room; greedy, lonely points first. `lines`:
/// level and upright strokes that labels would rather not lie on.
std::vector<PlacedLabel> place_labels(const std::vector<Point>& points,
                                      const std::vector<std::string>& texts, const Frame& frame,
                                      const std::vector<std::pair<Point, Point>>& lines = {});

/// Baselines of labels in a column, as near to `wanted` as `gap` between them and the two ends
/// allow.
std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double top,
                                  double bottom);

}  // namespace longhaul
