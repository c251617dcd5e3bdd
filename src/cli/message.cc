#include "cli/message.h"

#include <string_view>

#include "cli/line_editor.h"
#include "documents/text_limit.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";
constexpr const char* kFurther = "... ";

/// Reads lines up to one that ends with the quotes, or the end of input. `first` contains the
/// opening ones.
std::optional<std::string> quoted(std::string_view first, CancelFlag& cancel) {
  const TextLimit limit = text_limit();
  std::string message(first.substr(kQuotes.size()));
  while (!trim_back(message).ends_with(kQuotes)) {
    const std::optional<std::string> line = read_line(kFurther, cancel);
    if (!line) return cancel.requested() ? std::nullopt : std::optional(message);
    message += "\n" + *line;
    if (message.size() > limit.bytes) refuse_longer_text("standard input: a message", limit);
  }
  message.resize(trim_back(message).size() - kQuotes.size());
  return std::string(trim_back(trim_front(message)));
}

}  // namespace

std::optional<std::string> read_message(CancelFlag& cancel) {
  const bool typed_ahead = input_waits(0);
  std::optional<std::string> message = read_line("> ", cancel);
  if (!message) return std::nullopt;
  const std::string_view said = trim_front(*message);
  if (said.starts_with(kQuotes)) return quoted(said, cancel);
  // For a terminal that does not mark pastes: pasted lines arrive faster than typed ones. Lines
  // that arrived before the prompt were typed while the model replied.
  constexpr int kBlink = 20;  // milliseconds
  while (!typed_ahead && !said.starts_with('/') && input_waits(kBlink)) {
    const std::optional<std::string> line = read_line(kFurther, cancel);
    if (!line) return cancel.requested() ? std::nullopt : message;
    *message += "\n" + *line;
  }
  return message;
}

}  // namespace longhaul
