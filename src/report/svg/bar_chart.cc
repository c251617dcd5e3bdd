#include "report/svg/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "report/text.h"

namespace longhaul {

Svg draw(const BarChart& chart) {
  constexpr double kWidth = 560, kHeight = 220, kLeft = 52, kTop = 34, kBottom = 186;
  constexpr double kTick = 11.5, kWidest = 40;
  LH_ASSERT(!chart.bars.empty());
  double most = 0;
  for (const Bar& bar : chart.bars) most = std::max(most, bar.value);
  Svg svg(kWidth, kHeight, fmt::format("{}: {}", chart.title, chart.y_title));
  svg.text({2, 15}, chart.title, "head");
  svg.line({kLeft, kBottom}, {kWidth - 4, kBottom}, "axis");
  svg.text({kLeft - 6, kTop + 4}, number_text(most), "tick", Anchor::kEnd);
  svg.text({kLeft - 6, kBottom + 4}, "0", "tick", Anchor::kEnd);
  const double each =
      std::min(kWidest, (kWidth - 4 - kLeft) / static_cast<double>(chart.bars.size()));
  double taken = -1e9;
  for (size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double x = kLeft + each * static_cast<double>(i);
    const double height = most > 0 ? (kBottom - kTop) * bar.value / most : 0;
    svg.rect({x + 0.1 * each, kBottom - height}, 0.8 * each, height, bar.chosen ? "good" : "bad",
             {}, bar.tooltip);
    const double half = Svg::text_width(bar.label, kTick) / 2;
    if (x + each / 2 - half < taken + 3) continue;
    svg.text({x + each / 2, kBottom + 15}, bar.label, "tick", Anchor::kMiddle);
    taken = x + each / 2 + half;
  }
  svg.text({kLeft, kHeight - 4}, chart.y_title, "name");
  return svg;
}

}  // namespace longhaul
