#include "cli/status_line.h"

#include <unistd.h>

#include "cli/terminal_guard.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr double kBetweenTexts = 0.1;  // seconds

}  // namespace

StatusLine::StatusLine(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO) == 1) {}

bool StatusLine::due(bool last) const {
  return enabled_ && (last || !shown_ || seconds() - drawn_ >= kBetweenTexts);
}

void StatusLine::draw(const std::string& text) {
  if (!enabled_) return;
  control_terminal("\r" + one_line(text) + "\x1b[K");
  shown_ = true;
  drawn_ = seconds();
}

void StatusLine::clear() {
  if (!shown_) return;
  control_terminal("\r\x1b[K");
  shown_ = false;
}

}  // namespace longhaul
