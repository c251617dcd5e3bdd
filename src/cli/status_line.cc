#include "cli/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <string_view>

#include "cli/terminal_guard.h"
#include "text/printable.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

constexpr double kBetweenTexts = 0.1;  // seconds

/// The first `count` characters of a UTF-8 text.
std::string_view first_characters(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size() && count > 0; --count) at += read_utf8(text.substr(at)).bytes;
  return text.substr(0, at);
}

}  // namespace

StatusLine::StatusLine(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO) == 1) {}

bool StatusLine::due(bool last) const {
  return enabled_ && (last || !shown_ || seconds() - drawn_ >= kBetweenTexts);
}

size_t StatusLine::width() {
  constexpr size_t kUsual = 80;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kUsual;
}

void StatusLine::draw(const std::string& text) {
  if (!enabled_) return;
  // A longer line would wrap, and the next one would not replace it. The last column stays free,
  // since some terminals wrap there.
  const std::string line = one_line(text);
  control_terminal("\r" + std::string(first_characters(line, width() - 1)) + "\x1b[K");
  shown_ = true;
  drawn_ = seconds();
}

void StatusLine::clear() {
  if (!shown_) return;
  control_terminal("\r\x1b[K");
  shown_ = false;
}

}  // namespace longhaul
