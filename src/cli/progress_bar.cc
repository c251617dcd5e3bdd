#include "cli/progress_bar.h"

#include <utility>

#include "base/units.h"

namespace longhaul {
namespace {

constexpr double kPatience = 1.0;  // shorter work, in seconds, shows no bar

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
  const std::string left_text = "about " + rounded_time(end_.left(seconds, expected)) + " left";
  line_.draw(progress_line(
      {verb_, unit_, note, left_text, done, total, static_cast<double>(done) / seconds},
      StatusLine::width() - 1));
}

}  // namespace longhaul
