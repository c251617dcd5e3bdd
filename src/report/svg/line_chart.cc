#include "report/svg/line_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "report/svg/chart_style.h"
#include "report/svg/label_places.h"

namespace longhaul {
namespace {

constexpr double kWidth = 460, kGap = 15;

void draw_curve(Svg& svg, const LineSeries& s, const Axis& x, const Axis& y) {
  const std::string colour = series_class(s.style);
  std::string commands;
  for (const LinePoint& p : s.points) {
    commands += fmt::format("{}{} {}", commands.empty() ? 'M' : 'L', svg_number(x.at(p.x)),
                            svg_number(y.at(p.y)));
  }
  const std::string dash = dashes(s.style);
  if (dash.empty()) {
    svg.path(commands, "curve " + colour);
  } else {
    svg.path(commands, "curve " + colour, {{"stroke-dasharray", dash}});
  }
}

}  // namespace

Svg draw(const LineChart& chart) {
  LH_ASSERT(!chart.series.empty());
  std::vector<double> xs, ys;
  double widest = 0;
  for (const LineSeries& s : chart.series) {
    LH_ASSERT(!s.points.empty());
    widest = std::max(widest, Svg::text_width(s.label, kFontSize));
    for (const LinePoint& p : s.points) {
      xs.push_back(p.x);
      ys.push_back(p.y);
    }
  }
  const double count = static_cast<double>(chart.series.size());
  const double height = std::max(300.0, 96 + kGap * count);
  const bool wide_ticks = chart.y_unit == Unit::kSeconds || chart.y_unit == Unit::kBytes;
  const double left = wide_ticks ? 62 : 46;
  const Frame frame{left, 52, kWidth - std::clamp(widest + 26, 60.0, 215.0), height - 44};
  Axis x = make_axis(xs, chart.x_unit, chart.log_x, 6),
       y = make_axis(ys, chart.y_unit, chart.log_y, 5);
  if (!chart.x_ticks.empty()) {
    x.ticks.clear();
    for (const double tick : chart.x_ticks) {
      if (tick >= x.low && tick <= x.high) x.ticks.push_back(tick);
    }
  }
  Svg svg(kWidth, height, fmt::format("{}: {} by {}", chart.title, chart.y_title, chart.x_title));
  svg.text({2, 15}, chart.title, "head");
  draw_axes(svg, frame, x, y, chart.x_title, chart.y_title);
  std::vector<double> wanted;
  for (const LineSeries& s : chart.series) wanted.push_back(y.at(s.points.back().y) + 4);
  const std::vector<double> places = spread_labels(wanted, kGap, frame.top, frame.bottom + 4);
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const LineSeries& s = chart.series[i];
    const std::string colour = series_class(s.style);
    const Point end{x.at(s.points.back().x), y.at(s.points.back().y)};
    svg.line(end, {frame.right + 17, places[i] - 4}, "lead " + colour);
    svg.text({frame.right + 20, places[i]}, s.label, "label " + colour);
  }
  // Draws curves above the labels' lines, and dense attention on top.
  for (size_t i = chart.series.size(); i-- > 0;) draw_curve(svg, chart.series[i], x, y);
  for (const LineSeries& s : chart.series) {
    for (const LinePoint& p : s.points) {
      svg.path(marker_path(s.style, {x.at(p.x), y.at(p.y)}, 3.6), "mark " + series_class(s.style),
               {}, p.tooltip);
    }
  }
  return svg;
}

}  // namespace longhaul
