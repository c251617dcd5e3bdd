#pragma once
// Splits a reply into text, reasoning and tool calls while the reply is generated.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/output/call_reader.h"
#include "serve/output/reply_event.h"
#include "serve/output/reply_format.h"

namespace longhaul::serve {

/// The reply may arrive in arbitrary pieces. The borders of the pieces influence only how texts and
/// arguments are split into events, and joined_events() removes this difference. If a call cannot
/// be parsed, its bytes become text, and a kWarning event follows.
class ReplyParser : private CallSink {
 public:
  ReplyParser(ReplyFormat format, OfferedTools tools);

  void push(std::string_view bytes, std::vector<ReplyEvent>& events);
  /// Ends the reply. `cut` is true if a limit ended it. A call that is still open is then reported
  /// as incomplete.
  void finish(bool cut, std::vector<ReplyEvent>& events);

 private:
  enum class State : uint8_t {
    kVisible,    ///< text or reasoning
    kCall,       ///< inside a call
    kAfterCall,  ///< between the end of a call and its closing tag
    kCallStart,  ///< after [TOOL_CALLS]
    kList,       ///< between the calls of a list
    kHeader,     ///< header of a channel
  };
  enum class MarkKind : uint8_t { kReasoning, kEndOfReasoning, kCall, kTags, kList, kHeader, kEnd };
  struct Mark {
    std::string text;
    MarkKind kind;
  };

  void step(char c);
  void visible(char c);
  void visible_byte(char c);
  void open(const Mark& mark);
  void show_in(EventKind kind, bool trims);
  void read_call(char c);
  void after_call(char c);
  void call_start(char c);
  void in_list(char c);
  void header(char c);
  void end_header();
  void set_marks();
  void start_reader(std::unique_ptr<CallReader> reader);
  void end_call(bool complete);
  void give_up_call();
  void emit(EventKind kind, std::string_view text, std::string raw);
  void begin(const std::string& name) override;
  void id(const std::string& id) override { id_ = id; }
  void arguments(std::string_view piece) override;

  ReplyFormat format_;
  OfferedTools tools_;
  std::vector<ReplyEvent>* events_ = nullptr;

  State state_ = State::kVisible;
  EventKind shown_ = EventKind::kText;
  std::vector<Mark> marks_;
  std::string held_;    // text that may become a mark
  std::string blank_;   // blanks that belong to the markup if a mark follows
  bool trims_ = false;  // whether blanks before the next visible byte belong to the markup
  // Whether the reply has only blanks so far. Only then may a call without marks begin.
  bool empty_ = true;

  std::unique_ptr<CallReader> reader_;
  std::string call_raw_;  // bytes since the last event of the call
  std::string arguments_, id_;
  bool begun_ = false, bare_ = false, in_list_ = false;
};

}  // namespace longhaul::serve
