#pragma once
// The parts of a reply: text, reasoning and tool calls.

#include <string>
#include <vector>

namespace longhaul::serve {

enum class EventKind : uint8_t {
  kText,
  kReasoning,
  /// `text` is the name of the function, and `id` the id of the call, which may be empty.
  kCallBegin,
  kArguments,  ///< a piece of the call's arguments, which are JSON
  kCallEnd,    ///< `complete` is false if the arguments are not JSON or were cut off
  kMarkup,     ///< tags and blanks around the other parts; clients do not see them
  kWarning,    ///< `text` is the part that could not be parsed
};

struct ReplyEvent {
  EventKind kind = EventKind::kText;
  std::string text;
  std::string id;
  bool complete = true;
  std::string raw;  ///< bytes of the reply; those of all events together are the whole reply
};

/// Joins consecutive events of the same kind. The result does not depend on how the reply was
/// divided into pieces.
std::vector<ReplyEvent> joined_events(const std::vector<ReplyEvent>& events);

}  // namespace longhaul::serve
