#pragma once
// Draws a grid of cells. Each cell is of one of a few kinds, which have different colours. An
// example is a grid of layers and heads, with the attention pattern of each head.

#include <string>
#include <vector>

#include "report/svg/svg.h"

namespace longhaul {

struct ClassCell {
  size_t kind = 0;
  std::string tooltip;
};

struct ClassMap {
  std::string title, x_title, y_title;
  std::vector<std::string> kinds;               ///< names in the legend, at most eight
  std::vector<std::string> x_labels, y_labels;  ///< left to right, top to bottom
  std::vector<ClassCell> cells;                 ///< [row * x_labels.size() + column]
};

Svg draw(const ClassMap& map);

}  // namespace longhaul
