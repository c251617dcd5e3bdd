#include "cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/units.h"

namespace longhaul {
namespace {

constexpr double kPatience = 1.0;  // shorter work, in seconds, shows no bar
constexpr int kBarWidth = 24;

}  // namespace

ProgressBar::ProgressBar(std::string verb, bool enabled, std::string unit)
    : verb_(std::move(verb)), unit_(std::move(unit)), line_(enabled) {}

void ProgressBar::update(int64_t done, int64_t total, const std::string& note,
                         std::optional<double> left) {
  if (!line_.enabled() || done <= 0 || total <= 0) return;
  const double seconds = line_.seconds();
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double expected = left ? seconds + *left : seconds / share;
  if (!line_.shown() && expected < kPatience) return;
  if (!line_.due(done == total)) return;
  const std::string left_text = "about " + rounded_time(smoothed_left(seconds, expected)) + " left";
  line_.draw(progress_line(
      {verb_, unit_, note, left_text, done, total, static_cast<double>(done) / seconds},
      StatusLine::width() - 1));
}

/// The end of the work is expected at a time that changes slowly: a load that comes and goes does
/// not move it to and fro.
double ProgressBar::smoothed_left(double seconds, double expected) {
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
