#pragma once
// Defines the events into which ReplyParser splits a reply: pieces of text, reasoning and tool
// calls.

#include <string>
#include <vector>

namespace longhaul::serve {

enum class EventKind : uint8_t {
  kText,
  kReasoning,
  /// A call begins. `text` is the name of the function, and `id` is the id of the call or empty.
  kCallBegin,
  kArguments,  ///< a piece of the call's arguments, which are JSON
  kCallEnd,    ///< a call ends; `complete` is false if its arguments are not JSON or were cut off
  kMarkup,     ///< tags and blanks around the other parts; clients do not see them
  kWarning,    ///< `text` looked like a call but could not be parsed
};

struct ReplyEvent {
  EventKind kind = EventKind::kText;
  std::string text;
  std::string id;
  bool complete = true;
  /// Bytes of the reply that caused the event; concatenated over all events, they are the reply.
  std::string raw;
};

/// Joins consecutive events of the same kind. The result does not depend on the pieces in which the
/// reply arrived.
std::vector<ReplyEvent> joined_events(const std::vector<ReplyEvent>& events);

}  // namespace longhaul::serve
