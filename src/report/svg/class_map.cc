#include "report/svg/class_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "report/svg/chart_style.h"
#include "report/svg/map_axes.h"

namespace longhaul {

Svg draw(const ClassMap& map) {
  constexpr double kWidth = 560, kTop = 42, kRow = 16, kWidestCell = 44, kKey = 18;
  const size_t columns = map.x_labels.size(), rows = map.y_labels.size();
  LH_ASSERT(columns > 0 && map.cells.size() == columns * rows);
  constexpr double kLeft = 48;
  const double cell = std::min(kWidestCell, (kWidth - kLeft - 4) / static_cast<double>(columns));
  const double bottom = kTop + kRow * static_cast<double>(rows), keys = bottom + 52;
  Svg svg(kWidth, keys + kKey * static_cast<double>(map.kinds.size()),
          fmt::format("{} by {} and {}", map.title, map.x_title, map.y_title));
  svg.text({2, 15}, map.title, "head");
  for (size_t row = 0; row < rows; ++row) {
    const double y = kTop + kRow * static_cast<double>(row);
    svg.text({kLeft - 6, y + kRow / 2 + 4}, map.y_labels[row], "tick", Anchor::kEnd);
    for (size_t column = 0; column < columns; ++column) {
      const ClassCell& of = map.cells[row * columns + column];
      svg.rect({kLeft + cell * static_cast<double>(column), y}, cell, kRow,
               "mark " + series_class(of.kind + 1), {}, of.tooltip);
    }
  }
  draw_map_axes(svg, {kLeft, kTop, bottom, cell}, map.x_labels, map.x_title, map.y_title);
  for (size_t kind = 0; kind < map.kinds.size(); ++kind) {
    const double y = keys + kKey * static_cast<double>(kind);
    svg.rect({kLeft, y - 10}, 14, 12, "mark " + series_class(kind + 1));
    svg.text({kLeft + 20, y}, map.kinds[kind], "tick");
  }
  return svg;
}

}  // namespace longhaul
