#pragma once
// Draws a bar chart of labelled numbers, such as one bar for each layer of a model.

#include <string>
#include <vector>

#include "report/svg/svg.h"

namespace longhaul {

struct Bar {
  std::string label;
  double value = 0;     ///< length of the bar; not negative
  bool chosen = false;  ///< whether the bar is drawn in the highlight colour
  std::string tooltip;
};

struct BarChart {
  std::string title, y_title;
  std::vector<Bar> bars;
};

Svg draw(const BarChart& chart);

}  // namespace longhaul
