#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/units.h"

namespace longhaul {
namespace {

constexpr double kPatience = 1.0;      // seconds of work that need no bar
constexpr double kBetweenLines = 0.1;  // seconds
constexpr int kBarWidth = 24;

}  // namespace

ProgressBar::ProgressBar(std::string verb, bool enabled, std::string unit)
    : verb_(std::move(verb)),
      unit_(std::move(unit)),
      enabled_(enabled && isatty(STDERR_FILENO) == 1) {}

void ProgressBar::update(int64_t done, int64_t total, const std::string& note) {
  if (!enabled_ || done <= 0 || total <= 0) return;
  const double seconds = watch_.seconds();
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double expected = seconds / share;
  if (!shown_ && expected < kPatience) return;
  if (shown_ && seconds - drawn_ < kBetweenLines && done < total) return;
  shown_ = true;
  drawn_ = seconds;
  const double rate = static_cast<double>(done) / seconds;
  const int full = static_cast<int>(share * kBarWidth);
  const std::string bar = std::string(static_cast<size_t>(full), '#') +
                          std::string(static_cast<size_t>(kBarWidth - full), '.');
  const std::string line =
      fmt::format("\r{} [{}] {} / {} {}, {:.{}f} {}/s, {} left{}\x1b[K", verb_, bar,
                  with_commas(done), with_commas(total), unit_, rate, rate < 10 ? 1 : 0, unit_,
                  format_seconds(expected - seconds), note.empty() ? "" : ", " + note);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace longhaul
