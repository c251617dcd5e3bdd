#include "report/svg/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "report/svg/chart_style.h"
#include "report/svg/label_places.h"

namespace longhaul {
namespace {

constexpr double kScatterWidth = 460, kHeight = 340;
constexpr Frame kFrame{46, 52, kScatterWidth - 12, kHeight - 44};

using Strokes = std::vector<std::pair<Point, Point>>;

/// Between two points of the frontier the attainable quality is that of the cheaper one.
Strokes frontier_strokes(const Scatter& chart, const Axis& x, const Axis& y) {
  Strokes strokes;
  std::optional<Point> last;
  for (const size_t i : pareto_frontier(chart.points)) {
    const Point here{x.at(chart.points[i].x), y.at(chart.points[i].y)};
    if (last) {
      strokes.push_back({*last, {here.x, last->y}});
      strokes.push_back({{here.x, last->y}, here});
    }
    last = here;
  }
  if (last && last->x < kFrame.right) strokes.push_back({*last, {kFrame.right, last->y}});
  return strokes;
}

Strokes level_strokes(const Scatter& chart, const Axis& y) {
  Strokes strokes;
  for (const auto& [name, level] : chart.levels) {
    strokes.push_back({{kFrame.left, y.at(level)}, {kFrame.right, y.at(level)}});
  }
  return strokes;
}

/// Draws all strokes with `classes`.
void draw_strokes(Svg& svg, const Strokes& strokes, const std::string& classes) {
  std::string commands;
  for (const auto& [from, to] : strokes) {
    commands += fmt::format("M{} {}L{} {}", svg_number(from.x), svg_number(from.y),
                            svg_number(to.x), svg_number(to.y));
  }
  if (!commands.empty()) svg.path(commands, classes);
}

/// Draws curves through the points of each family and returns them, so that labels avoid them.
Strokes draw_families(Svg& svg, const Scatter& chart, const Axis& x, const Axis& y) {
  std::map<std::string, std::vector<const ScatterPoint*>> families;
  for (const ScatterPoint& p : chart.points) {
    if (!p.family.empty()) families[p.family].push_back(&p);
  }
  Strokes all;
  for (auto& [name, points] : families) {
    std::ranges::stable_sort(points, {}, &ScatterPoint::x);
    Strokes strokes;
    for (size_t i = 1; i < points.size(); ++i) {
      strokes.push_back({{x.at(points[i - 1]->x), y.at(points[i - 1]->y)},
                         {x.at(points[i]->x), y.at(points[i]->y)}});
    }
    draw_strokes(svg, strokes, "curve thin " + series_class(points[0]->style));
    all.insert(all.end(), strokes.begin(), strokes.end());
  }
  return all;
}

}  // namespace

std::vector<size_t> pareto_frontier(const std::vector<ScatterPoint>& points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return points[a].x != points[b].x ? points[a].x < points[b].x : points[a].y > points[b].y;
  });
  std::vector<size_t> frontier;
  for (const size_t i : order) {
    if (frontier.empty() || points[i].y > points[frontier.back()].y) frontier.push_back(i);
  }
  return frontier;
}

Svg draw(const Scatter& chart) {
  LH_ASSERT(!chart.points.empty());
  std::vector<double> xs, ys;
  for (const ScatterPoint& p : chart.points) {
    xs.push_back(p.x);
    ys.push_back(p.y);
  }
  for (const auto& level : chart.levels) ys.push_back(level.second);
  Axis x = make_axis(xs, chart.x_unit, chart.log_x, 5), y = make_axis(ys, chart.y_unit, false, 5);
  Svg svg(kScatterWidth, kHeight,
          fmt::format("{}: {} against {}", chart.title, chart.y_title, chart.x_title));
  svg.text({2, 15}, chart.title, "head");
  draw_axes(svg, kFrame, x, y, chart.x_title, chart.y_title);
  Strokes strokes = level_strokes(chart, y);
  if (chart.frontier) strokes = frontier_strokes(chart, x, y);
  draw_strokes(svg, strokes, "front");
  for (const auto& [name, level] : chart.levels) {
    svg.text({kFrame.left + 4, y.at(level) - 5}, name, "tick");
  }
  const Strokes curves = draw_families(svg, chart, x, y);
  strokes.insert(strokes.end(), curves.begin(), curves.end());
  std::vector<Point> places;
  std::vector<std::string> texts;
  for (const ScatterPoint& p : chart.points) {
    places.push_back({x.at(p.x), y.at(p.y)});
    texts.push_back(p.label);
  }
  const auto labels = place_labels(
      places, texts, {kFrame.left, kFrame.top - 12, kFrame.right + 10, kFrame.bottom}, strokes);
  for (size_t i = 0; i < places.size(); ++i) {  // below all marks and names
    if (!labels[i].far) continue;
    svg.line(places[i], {labels[i].at.x, labels[i].at.y - 4},
             "lead " + series_class(chart.points[i].style));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const ScatterPoint& p = chart.points[i];
    const std::string colour = series_class(p.style);
    svg.path(marker_path(p.style, places[i], 4.5), "mark " + colour, {}, p.tooltip);
    svg.text(labels[i].at, p.label, "label " + colour, labels[i].anchor);
  }
  return svg;
}

}  // namespace longhaul
