#include "report/svg/map_axes.h"

namespace longhaul {

void draw_map_axes(Svg& svg, const MapPlace& place, const std::vector<std::string>& columns,
                   std::string_view x_title, std::string_view y_title) {
  constexpr double kTick = 11.5;  // font size of ticks
  double taken = -1e9;
  for (size_t column = 0; column < columns.size(); ++column) {
    const double x = place.left + place.cell * (static_cast<double>(column) + 0.5);
    const double half = Svg::text_width(columns[column], kTick) / 2;
    if (x - half < taken + 4) continue;
    svg.text({x, place.bottom + 15}, columns[column], "tick", Anchor::kMiddle);
    taken = x + half;
  }
  svg.text({place.left, place.bottom + 33}, x_title, "name");
  svg.text({place.left - 6, place.top - 6}, y_title, "name small", Anchor::kEnd);
}

}  // namespace longhaul
