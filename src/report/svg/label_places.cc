#include "report/svg/label_places.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "report/svg/chart_style.h"

namespace longhaul {
namespace {

struct Box {
  double left, top, right, bottom;
};

double overlap(const Box& a, const Box& b) {
  const double w = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double h = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  return w > 0 && h > 0 ? w * h : 0;
}

Box box_of(const PlacedLabel& label, double width) {
  const double left = label.anchor == Anchor::kStart ? label.at.x
                      : label.anchor == Anchor::kEnd ? label.at.x - width
                                                     : label.at.x - width / 2;
  return {left - 1, label.at.y - 10, left + width + 1, label.at.y + 3};
}

double outside(const Box& box, const Frame& frame) {
  return std::max(0.0, frame.left - box.left) + std::max(0.0, box.right - frame.right) +
         std::max(0.0, frame.top - box.top) + std::max(0.0, box.bottom - frame.bottom);
}

/// Positions close to the point first, then rings further away.
std::vector<PlacedLabel> candidates(Point p) {
  std::vector<PlacedLabel> places = {
      {{p.x + 8, p.y + 4}, Anchor::kStart, false},  {{p.x - 8, p.y + 4}, Anchor::kEnd, false},
      {{p.x, p.y - 9}, Anchor::kMiddle, false},     {{p.x, p.y + 18}, Anchor::kMiddle, false},
      {{p.x + 6, p.y - 6}, Anchor::kStart, false},  {{p.x - 6, p.y - 6}, Anchor::kEnd, false},
      {{p.x + 6, p.y + 14}, Anchor::kStart, false}, {{p.x - 6, p.y + 14}, Anchor::kEnd, false}};
  for (int away = 22; away <= 150; away += 8) {
    for (const double side : {1.0, -1.0}) {
      for (const double across : {14.0, 30.0, 60.0}) {
        places.push_back({{p.x + across, p.y + 4 + side * away}, Anchor::kStart, true});
        places.push_back({{p.x - across, p.y + 4 + side * away}, Anchor::kEnd, true});
      }
    }
  }
  return places;
}

}  // namespace

std::vector<PlacedLabel> place_labels(const std::vector<Point>& points,
                                      const std::vector<std::string>& texts, const Frame& frame,
                                      const std::vector<std::pair<Point, Point>>& lines) {
  constexpr double kRadius = 6;
  std::vector<Box> taken;
  for (const Point& p : points) {
    taken.push_back({p.x - kRadius, p.y - kRadius, p.x + kRadius, p.y + kRadius});
  }
  for (const auto& [a, b] : lines) {
    taken.push_back({std::min(a.x, b.x) - 0.7, std::min(a.y, b.y) - 0.7, std::max(a.x, b.x) + 0.7,
                     std::max(a.y, b.y) + 0.7});
  }
  const auto crowd = [&](size_t i) {
    return std::count_if(points.begin(), points.end(), [&](const Point& p) {
      return std::hypot(p.x - points[i].x, p.y - points[i].y) < 40;
    });
  };
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return crowd(a) < crowd(b); });
  std::vector<PlacedLabel> placed(points.size());
  for (const size_t i : order) {
    const double width = Svg::text_width(texts[i], kFontSize);
    double least = std::numeric_limits<double>::infinity();
    for (const PlacedLabel& place : candidates(points[i])) {
      const Box box = box_of(place, width);
      double cost = 40 * outside(box, frame);
      for (const Box& other : taken) cost += overlap(box, other);
      if (cost < least) {
        least = cost;
        placed[i] = place;
      }
      if (cost == 0) break;
    }
    taken.push_back(box_of(placed[i], width));
  }
  return placed;
}

std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double top,
                                  double bottom) {
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  const double room = bottom - top;
  const size_t gaps = wanted.empty() ? 0 : wanted.size() - 1;
  const double least = gaps == 0 ? gap : std::min(gap, room / static_cast<double>(gaps));
  std::vector<double> places(wanted.size());
  double floor = top;
  for (const size_t i : order) {
    places[i] = std::max(wanted[i], floor);
    floor = places[i] + least;
  }
  double ceiling = bottom;
  for (size_t k = order.size(); k-- > 0;) {
    places[order[k]] = std::min(places[order[k]], ceiling);
    ceiling = places[order[k]] - least;
  }
  return places;
}

}  // namespace longhaul
