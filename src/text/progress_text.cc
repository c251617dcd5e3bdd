#include "text/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace longhaul {
namespace {

constexpr int kBarWidth = 24;

}  // namespace

double SmoothedEnd::left(double seconds, double expected) {
  constexpr double kShare = 0.05, kLeast = 3;  // fraction of the whole work; seconds
  const double inertia = std::max(kLeast, kShare * expected);
  const double weight = end_ ? 1 - std::exp(-(seconds - updated_) / inertia) : 1;
  end_ = end_.value_or(expected) + weight * (expected - end_.value_or(expected));
  updated_ = seconds;
  return std::max(0.0, *end_ - seconds);
}

std::string rounded_time(double seconds) {
  constexpr double kMinute = 60, kHour = 3600;
  const double step = seconds < 10             ? 1
                      : seconds < kMinute      ? 5
                      : seconds < 5 * kMinute  ? 15
                      : seconds < 10 * kMinute ? kMinute
                      : seconds < kHour        ? 5 * kMinute
                                               : 10 * kMinute;
  const auto whole = std::llround(std::max(1.0, std::round(seconds / step)) * step);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) {
    return whole % 60 == 0 ? fmt::format("{} min", whole / 60)
                           : fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  return whole % 3600 == 0 ? fmt::format("{} h", whole / 3600)
                           : fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string progress_line(const ProgressText& p, size_t width) {
  const double share = static_cast<double>(p.done) / static_cast<double>(p.total);
  const int full = static_cast<int>(share * kBarWidth);
  const std::string bar = " [" + std::string(static_cast<size_t>(full), '#') +
                          std::string(static_cast<size_t>(kBarWidth - full), '.') + "]";
  const std::string count =
      fmt::format(" {} / {} {}", with_commas(p.done), with_commas(p.total), p.unit);
  const std::string rate = fmt::format(", {:.{}f} {}/s", p.rate, p.rate < 10 ? 1 : 0, p.unit);
  const std::string note = p.note.empty() ? "" : ", " + p.note;
  const std::string percent = fmt::format(" {:.0f} %", 100 * share);
  // Shorter forms leave out what matters least.
  for (const std::string& line :
       {p.verb + bar + count + rate + ", " + p.left + note,
        p.verb + bar + count + ", " + p.left + note, p.verb + count + ", " + p.left + note,
        p.verb + count + ", " + p.left, p.verb + percent + ", " + p.left}) {
    if (line.size() <= width) return line;
  }
  return p.verb + percent;
}

}  // namespace longhaul
