#include "cli/status_line.h"

#include <unistd.h>

#include <cstdio>

namespace longhaul {
namespace {

constexpr double kBetweenTexts = 0.1;  // seconds

}  // namespace

StatusLine::StatusLine(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO) == 1) {}

bool StatusLine::due(bool last) const {
  return last || !shown_ || seconds() - drawn_ >= kBetweenTexts;
}

void StatusLine::draw(const std::string& text) {
  std::fputs(("\r" + text + "\x1b[K").c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
  drawn_ = seconds();
}

void StatusLine::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace longhaul
