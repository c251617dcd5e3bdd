#pragma once
// Converts a reply to output items of the Responses API, and sends the events that describe these
// items. A reply consists of parts (text, reasoning or a call); each part becomes one item.

#include <functional>
#include <optional>
#include <string>

#include "serve/api/freeform_input.h"
#include "serve/api/responses_tools.h"
#include "serve/api/turn_writer.h"

namespace longhaul::serve {

class ResponsesItems {
 public:
  /// Receives an event and sends it to the client. The function must add the sequence number.
  using Send = std::function<void(Json event)>;

  /// If `summary` is true, the whole reasoning is presented as a "summary", because the client
  /// reads only summaries.
  ResponsesItems(const ResponsesTools& tools, bool summary, Send send)
      : tools_(tools), summary_(summary), send_(std::move(send)) {}

  // For each part of the reply, begin() is called first, then add() for its pieces, and then end().
  void begin(const ReplyPart& part);
  void add(std::string_view piece);
  /// Adds a citation: the text that add() has received so far in this part is based on `passage`.
  void annotate(const CitedPassage& passage);
  /// Ends the part. `complete` is false if a limit cut the part off, or if the arguments of a call
  /// are not JSON.
  void end(bool complete);

  /// Returns the items that have ended.
  const Json& output() const { return output_; }
  /// Returns the reply as a message of a Conversation (serve/api/conversation.h).
  const Json& message() const { return message_; }

 private:
  using Kind = ReplyPart::Kind;
  void begin_text();
  void begin_reasoning();
  void begin_call(const ReplyPart& part);
  void add_input(const std::string& text);
  void end_text();
  void end_reasoning();
  void end_call(bool complete);
  void begin_item(Json item);
  /// Both functions return an event of the given type. at_item() adds the position of the open
  /// item, and at_part() the position of its only content part.
  Json at_item(const char* type) const;
  Json at_part(const char* type) const;

  const ResponsesTools& tools_;
  const bool summary_;
  Send send_;
  Json output_ = Json::array();
  Json message_ = {{"role", "assistant"}, {"content", ""}};

  Kind kind_ = Kind::kText;           ///< kind of the open item
  Json item_;                         ///< the open item as it was announced to the client
  Json annotations_ = Json::array();  ///< annotations of the open text
  std::string text_;                  ///< text, arguments or input of the open item so far
  /// For calls: function name and arguments as the model wrote them.
  std::string function_, arguments_;
  std::optional<FreeformInput> input_;  ///< set if the open item is a call of a custom tool
};

}  // namespace longhaul::serve
