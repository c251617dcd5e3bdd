#include "report/svg/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "report/svg/chart_style.h"
#include "report/text.h"

namespace longhaul {
namespace {

/// The smallest round number (1, 2, 2.5 or 5 times a power of ten) not below `step`.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

void linear_axis(Axis& axis, int count) {
  double span = axis.high - axis.low;
  if (span <= 1e-9 * std::max(1.0, std::abs(axis.high))) {
    span = std::max(0.1, std::abs(axis.high) * 0.2);
    axis.low -= span / 2;
    axis.high += span / 2;
  }
  if (axis.unit == Unit::kPercent) span = std::max(span, 0.1);
  const double step = round_step(span / count);
  axis.low = std::floor(axis.low / step + 1e-9) * step;
  axis.high = std::ceil(axis.high / step - 1e-9) * step;
  if (axis.unit == Unit::kPercent) {
    axis.low = std::max(0.0, axis.low);
    axis.high = std::min(1.0, axis.high);
  }
  for (int i = 0; axis.low + i * step <= axis.high + step * 1e-6; ++i) {
    axis.ticks.push_back(axis.low + i * step);
  }
}

/// For a logarithmic axis too short for powers: evenly spaced round values.
void linear_ticks(Axis& axis, int count) {
  double step = round_step((axis.high - axis.low) / count);
  if (axis.unit == Unit::kBytes)
    step = std::exp2(std::ceil(std::log2((axis.high - axis.low) / count)));
  axis.ticks.clear();
  const auto first = static_cast<int64_t>(std::ceil(axis.low / step));
  const auto last = static_cast<int64_t>(std::floor(axis.high / step));
  for (int64_t i = first; i <= last; ++i) axis.ticks.push_back(static_cast<double>(i) * step);
}

void log_axis(Axis& axis, int count) {
  if (axis.high / axis.low < 1.5) {
    axis.low /= 1.3;
    axis.high *= 1.3;
  } else {
    const double air = std::pow(axis.high / axis.low, 0.06);
    axis.low /= air;
    axis.high *= air;
  }
  std::vector<double> all;
  if (axis.unit == Unit::kTokens || axis.unit == Unit::kBytes) {
    for (int e = -10; e < 70; ++e) all.push_back(std::ldexp(1.0, e));
  } else {
    for (int e = -12; e < 16; ++e) {
      for (const int factor : {1, 2, 5}) all.push_back(factor * std::pow(10.0, e));
    }
  }
  for (const double tick : all) {
    if (tick >= axis.low * (1 - 1e-9) && tick <= axis.high * (1 + 1e-9)) axis.ticks.push_back(tick);
  }
  if (axis.ticks.size() < 3) linear_ticks(axis, count);
  const size_t most = static_cast<size_t>(count) + 2;
  if (axis.ticks.size() > most) {
    const size_t stride = (axis.ticks.size() + most - 1) / most;
    std::vector<double> fewer;
    for (size_t i = 0; i < axis.ticks.size(); i += stride) fewer.push_back(axis.ticks[i]);
    axis.ticks = std::move(fewer);
  }
}

std::string short_bytes(double bytes) {
  std::string text = format_bytes(static_cast<size_t>(bytes));
  if (const size_t zero = text.find(".0 "); zero != std::string::npos) text.erase(zero, 2);
  return text;
}

}  // namespace

double Axis::at(double value) const {
  if (log) value = std::max(value, low);
  const double share =
      log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + share * (to - from);
}

Axis make_axis(const std::vector<double>& values, Unit unit, bool log, int count) {
  LH_ASSERT(!values.empty());
  Axis axis;
  axis.unit = unit;
  axis.log = log;
  axis.low = *std::min_element(values.begin(), values.end());
  axis.high = *std::max_element(values.begin(), values.end());
  LH_ASSERT(!log || axis.low > 0);
  if (log) axis.low = std::max(axis.low, axis.high * 1e-12);
  log ? log_axis(axis, count) : linear_axis(axis, count);
  return axis;
}

std::string tick_text(double value, Unit unit) {
  switch (unit) {
    case Unit::kPercent:
      return fmt::format("{:g}", std::round(1000 * value) / 10);
    case Unit::kTokens:
      return tokens_text(std::llround(value));
    case Unit::kSeconds:
      if (value < 0.9995) return fmt::format("{:g} ms", value * 1e3);
      return value < 120 ? fmt::format("{:g} s", value) : format_seconds(value);
    case Unit::kBytes:
      return short_bytes(value);
    case Unit::kPerSecond:
    case Unit::kPlain:
      break;
  }
  return value >= 10'000 ? with_commas(std::llround(value)) : fmt::format("{:.6g}", value);
}

void draw_axes(Svg& svg, const Frame& frame, Axis& x, Axis& y, const std::string& x_title,
               const std::string& y_title) {
  x.from = frame.left;
  x.to = frame.right;
  y.from = frame.bottom;
  y.to = frame.top;
  for (const double tick : y.ticks) {
    const double place = y.at(tick);
    svg.line({frame.left, place}, {frame.right, place}, "grid");
    svg.text({frame.left - 6, place + 4}, tick_text(tick, y.unit), "tick", Anchor::kEnd);
  }
  svg.line({frame.left, frame.bottom}, {frame.right, frame.bottom}, "axis");
  double taken = -1e9;
  for (const double tick : x.ticks) {
    const double place = x.at(tick);
    const std::string text = tick_text(tick, x.unit);
    const double half = Svg::text_width(text, 11.5) / 2;
    svg.line({place, frame.bottom}, {place, frame.bottom + 4}, "axis");
    if (place - half < taken + 5) continue;
    svg.text({place, frame.bottom + 17}, text, "tick", Anchor::kMiddle);
    taken = place + half;
  }
  svg.text({(frame.left + frame.right) / 2, frame.bottom + 35}, x_title, "name", Anchor::kMiddle);
  svg.text({2, frame.top - 11}, y_title, "name");
}

}  // namespace longhaul
