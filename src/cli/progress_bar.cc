#include "cli/progress_bar.h"

#include <fmt/format.h>

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
  const double rate = static_cast<double>(done) / seconds;
  const int full = static_cast<int>(share * kBarWidth);
  const std::string bar = std::string(static_cast<size_t>(full), '#') +
                          std::string(static_cast<size_t>(kBarWidth - full), '.');
  line_.draw(fmt::format("{} [{}] {} / {} {}, {:.{}f} {}/s, {} left{}", verb_, bar,
                         with_commas(done), with_commas(total), unit_, rate, rate < 10 ? 1 : 0,
                         unit_, format_seconds(expected - seconds),
                         note.empty() ? "" : ", " + note));
}

}  // namespace longhaul
