#include "report/svg/heat_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "report/svg/chart_style.h"
#include "report/svg/map_axes.h"
#include "report/text.h"

namespace longhaul {

Svg draw(const HeatMap& map) {
  constexpr double kWidth = 330, kTop = 42, kRow = 19, kWidestCell = 64, kTick = 11.5;
  const size_t columns = map.x_labels.size(), rows = map.y_labels.size();
  LH_ASSERT(columns > 0 && map.cells.size() == columns * rows);
  double left = 48;
  for (const std::string& label : map.y_labels) {
    left = std::max(left, Svg::text_width(label, kTick) + 10);
  }
  const double cell = std::min(kWidestCell, (kWidth - left - 4) / static_cast<double>(columns));
  const double bottom = kTop + kRow * static_cast<double>(rows);
  Svg svg(kWidth, bottom + 42,
          fmt::format("{}: score by {} and {}", map.title, map.x_title, map.y_title));
  svg.text({2, 15}, map.title, "head");
  // Scores are drawn over the middle's colour, more opaque the further they are from one half.
  svg.rect({left, kTop}, cell * static_cast<double>(columns), bottom - kTop, "mid");
  for (size_t row = 0; row < rows; ++row) {
    const double y = kTop + kRow * static_cast<double>(row);
    svg.text({left - 6, y + kRow / 2 + 4}, map.y_labels[row], "tick", Anchor::kEnd);
    for (size_t column = 0; column < columns; ++column) {
      const double x = left + cell * static_cast<double>(column);
      const auto& value = map.cells[row * columns + column];
      if (!value) {
        svg.rect({x, y}, cell, kRow, "empty", {{"stroke-dasharray", "2 2"}});
        continue;
      }
      const ScoreFill fill =
          map.one_sided ? ScoreFill{"good", value->score} : score_fill(value->score);
      svg.rect({x, y}, cell, kRow, std::string("cell ") + std::string(fill.classes),
               {{"fill-opacity", fmt::format("{:.2f}", fill.opacity)}}, value->tooltip);
      if (cell < 26) continue;
      svg.text({x + cell / 2, y + kRow / 2 + 4}, fmt::format("{:.0f}", 100 * value->score),
               fill.opacity > 0.6 ? "small strong" : "small", Anchor::kMiddle,
               {{"pointer-events", "none"}});
    }
  }
  draw_map_axes(svg, {left, kTop, bottom, cell}, map.x_labels, map.x_title, map.y_title);
  return svg;
}

}  // namespace longhaul
