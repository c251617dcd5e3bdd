#include "cli/eval_progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/units.h"
#include "report/method_text.h"

namespace longhaul {
namespace {

size_t terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 100;
}

/// The method without its options, unless another method has the same name.
std::string_view short_name(std::string_view method, const EvalProgress& progress) {
  const std::string_view name = method_name(method);
  const auto alike = std::count_if(
      progress.methods.begin(), progress.methods.end(),
      [&](const EvalProgress::Method& other) { return method_name(other.name) == name; });
  return alike > 1 ? method : name;
}

}  // namespace

std::string progress_text(const EvalProgress& progress, double left) {
  std::string text =
      fmt::format("{} / {} answers", with_commas(progress.done), with_commas(progress.total));
  if (left >= 0) text += fmt::format(", {} left", format_seconds(left));
  const char* before = ": ";
  for (const EvalProgress::Method& method : progress.methods) {
    if (method.scored == 0) continue;
    text += fmt::format("{}{} {:.0f} %", before, short_name(method.name, progress),
                        100 * method.sum / static_cast<double>(method.scored));
    before = ", ";
  }
  return text;
}

void EvalBar::update(const EvalProgress& progress) {
  if (!line_.enabled() || !line_.due(progress.done >= progress.total)) return;
  const std::string text = progress_text(progress, seconds_left(progress, line_.seconds()));
  line_.draw(text.substr(0, terminal_width() - 1));
}

}  // namespace longhaul
