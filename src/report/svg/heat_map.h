#pragma once
// Draws scores as coloured cells over two axes, such as context length and depth of the answer in
// the text.

#include <optional>
#include <string>
#include <vector>

#include "report/svg/svg.h"

namespace longhaul {

struct HeatCell {
  double score = 0;  ///< score from 0 to 1
  std::string tooltip;
};

struct HeatMap {
  std::string title, x_title, y_title;
  std::vector<std::string> x_labels, y_labels;  ///< left to right, top to bottom
  /// [row * x_labels.size() + column]. Empty: there are no samples.
  std::vector<std::optional<HeatCell>> cells;
  /// Whether cells with score 0 have no colour. Otherwise they have the colour of wrong answers.
  bool one_sided = false;
};

Svg draw(const HeatMap& map);

}  // namespace longhaul
