#pragma once
// Draws the labels of a grid of cells (heat_map.h, class_map.h): the labels of its columns and the
// titles of both axes.

#include <string>
#include <string_view>
#include <vector>

#include "report/svg/svg.h"

namespace longhaul {

/// The position of the grid in the picture.
struct MapPlace {
  double left = 0, top = 0, bottom = 0;
  double cell = 0;  ///< width of a cell
};

/// Draws the labels. A label that would overlap the previous label is omitted.
void draw_map_axes(Svg& svg, const MapPlace& place, const std::vector<std::string>& columns,
                   std::string_view x_title, std::string_view y_title);

}  // namespace longhaul
