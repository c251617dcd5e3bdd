#pragma once
// Numbers side by side, each named: one bar for every layer of a model, say.

#include <string>
#include <vector>

#include "report/svg/svg.h"

namespace longhaul {

struct Bar {
  std::string label;
  double value = 0;     ///< not below 0
  bool chosen = false;  ///< drawn in the colour of what is found
  std::string tooltip;
};

struct BarChart {
  std::string title, y_title;
  std::vector<Bar> bars;
};

Svg draw(const BarChart& chart);

}  // namespace longhaul
