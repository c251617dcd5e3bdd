#pragma once
// Draws bars for named numbers, such as a bar for every layer of a model.

#include <string>
#include <vector>

#include "report/svg/svg.h"

namespace longhaul {

struct Bar {
  std::string label;
  double value = 0;     ///< not negative
  bool chosen = false;  ///< drawn in the highlight colour
  std::string tooltip;
};

struct BarChart {
  std::string title, y_title;
  std::vector<Bar> bars;
};

Svg draw(const BarChart& chart);

}  // namespace longhaul
