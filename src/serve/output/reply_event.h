#pragma once
// Parts of a reply: text, reasoning and tool calls.

#include <string>
#include <vector>

namespace longhaul::serve {

enum class EventKind : uint8_t {
  kText,
  kReasoning,
  kCallBegin,  ///< `text` is the function's name, `id` the call's id, which may be empty
  kArguments,  ///< a piece of the call's arguments, which are JSON
  kCallEnd,    ///< `complete` is false if the arguments are not JSON or were cut
  kMarkup,     ///< tags and blanks around the other parts, which a client does not see
  kWarning,    ///< `text` is the part that could not be parsed
};

struct ReplyEvent {
  EventKind kind = EventKind::kText;
  std::string text;
  std::string id;
  bool complete = true;
  std::string raw;  ///< bytes of the reply; those of all events together are the whole reply
};

/// Joins neighbours of the same kind, so that the result does not depend on how a reply was
/// divided.
std::vector<ReplyEvent> joined_events(const std::vector<ReplyEvent>& events);

}  // namespace longhaul::serve
