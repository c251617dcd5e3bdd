#pragma once
// A reply as output items of the Responses API, with the events that describe them.

#include <functional>
#include <optional>
#include <string>

#include "serve/api/freeform_input.h"
#include "serve/api/responses_tools.h"
#include "serve/api/turn_writer.h"

namespace longhaul::serve {

class ResponsesItems {
 public:
  /// Receives events without their sequence number.
  using Send = std::function<void(Json event)>;

  /// `summary`: reasoning is shown as a summary, because the client reads only this part.
  ResponsesItems(const ResponsesTools& tools, bool summary, Send send)
      : tools_(tools), summary_(summary), send_(std::move(send)) {}

  // Every part begins, gets pieces, and ends before the next one begins.
  void begin(const ReplyPart& part);
  void add(std::string_view piece);
  /// A passage that the text before draws on.
  void annotate(const CitedPassage& passage);
  /// `complete`: false if a limit cut the part, or if a call's arguments are not JSON.
  void end(bool complete);

  /// The items that have ended.
  const Json& output() const { return output_; }
  /// The reply as a message of a conversation.
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
  /// An event with the place of the open item, or of its only part.
  Json at_item(const char* type) const;
  Json at_part(const char* type) const;

  const ResponsesTools& tools_;
  const bool summary_;
  Send send_;
  Json output_ = Json::array();
  Json message_ = {{"role", "assistant"}, {"content", ""}};

  Kind kind_ = Kind::kText;             ///< kind of the open item
  Json item_;                           ///< the open item as it was announced
  Json annotations_ = Json::array();    ///< annotations of an open text
  std::string text_;                    ///< its text so far, arguments or input
  std::string function_, arguments_;    ///< a call as the model wrote it
  std::optional<FreeformInput> input_;  ///< input of a custom call
};

}  // namespace longhaul::serve
