#include "serve/output/reply_parser.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace longhaul::serve {
namespace {

constexpr size_t kLongestHeader = 512;
constexpr std::string_view kEndOfToolCall = "</tool_call>";

bool is_reply_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string after_mark(const std::string& text, std::string_view mark) {
  const size_t begin = text.find(mark);
  if (begin == std::string::npos) return "";
  const size_t end = text.find_first_of(" \n<", begin + mark.size());
  return text.substr(begin + mark.size(),
                     end == std::string::npos ? end : end - begin - mark.size());
}

}  // namespace

std::vector<ReplyEvent> joined_events(const std::vector<ReplyEvent>& events) {
  std::vector<ReplyEvent> joined;
  for (const ReplyEvent& event : events) {
    const bool pieces = event.kind == EventKind::kText || event.kind == EventKind::kReasoning ||
                        event.kind == EventKind::kArguments || event.kind == EventKind::kMarkup;
    if (pieces && !joined.empty() && joined.back().kind == event.kind) {
      joined.back().text += event.text;
      joined.back().raw += event.raw;
    } else {
      joined.push_back(event);
    }
  }
  return joined;
}

ReplyParser::ReplyParser(ReplyFormat format, OfferedTools tools)
    : format_(std::move(format)), tools_(std::move(tools)) {
  if (format_.begins_in_reasoning) show_in(EventKind::kReasoning, true);
  set_marks();
}

void ReplyParser::push(std::string_view bytes, std::vector<ReplyEvent>& events) {
  events_ = &events;
  for (const char c : bytes) step(c);
}

void ReplyParser::emit(EventKind kind, std::string_view text, std::string raw) {
  const bool pieces = kind == EventKind::kText || kind == EventKind::kReasoning ||
                      kind == EventKind::kArguments || kind == EventKind::kMarkup;
  if (pieces && !events_->empty() && events_->back().kind == kind) {
    events_->back().text += text;
    events_->back().raw += raw;
    return;
  }
  events_->push_back({kind, std::string(text), "", true, std::move(raw)});
}

void ReplyParser::step(char c) {
  switch (state_) {
    case State::kVisible:
      return visible(c);
    case State::kCall:
      return read_call(c);
    case State::kAfterCall:
      return after_call(c);
    case State::kCallStart:
      return call_start(c);
    case State::kList:
      return in_list(c);
    case State::kHeader:
      return header(c);
  }
}

void ReplyParser::show_in(EventKind kind, bool trims) {
  state_ = State::kVisible;
  shown_ = kind;
  trims_ = trims;
  set_marks();
}

/// The marks that are possible in the parser's state.
void ReplyParser::set_marks() {
  marks_.clear();
  if (format_.family == CallFamily::kChannels) {
    for (const char* text : {"<|channel|>", "<|start|>"})
      marks_.push_back({text, MarkKind::kHeader});
    if (empty_) marks_.push_back({" to=functions.", MarkKind::kHeader});
    for (const char* text : {"<|end|>", "<|return|>", "<|call|>"})
      marks_.push_back({text, MarkKind::kEnd});
    return;
  }
  if (shown_ == EventKind::kReasoning) {
    marks_.push_back({format_.reasoning_close, MarkKind::kEndOfReasoning});
    return;
  }
  if (empty_ && !format_.reasoning_open.empty()) {
    marks_.push_back({format_.reasoning_open, MarkKind::kReasoning});
  }
  switch (format_.family) {
    case CallFamily::kHermes:
      marks_.push_back({"<tool_call>", MarkKind::kCall});
      break;
    case CallFamily::kQwenCoder:
      marks_.push_back({"<tool_call>", MarkKind::kEnd});
      marks_.push_back({std::string(kEndOfToolCall), MarkKind::kEnd});
      marks_.push_back({"<function=", MarkKind::kTags});
      break;
    case CallFamily::kLlama:
      marks_.push_back({"<|python_tag|>", MarkKind::kCall});
      break;
    case CallFamily::kMistral:
      marks_.push_back({"[TOOL_CALLS]", MarkKind::kList});
      break;
    default:
      break;
  }
}

void ReplyParser::visible(char c) {
  held_ += c;
  while (!held_.empty()) {
    bool may_be_mark = false;
    for (const Mark& mark : marks_) {
      if (mark.text == held_) return open(Mark(mark));
      may_be_mark |= mark.text.starts_with(held_);
    }
    if (may_be_mark) return;
    const std::string bytes = std::exchange(held_, "");
    visible_byte(bytes[0]);
    // The byte may have changed the state, so that the others are read anew.
    for (const char next : std::string_view(bytes).substr(1)) step(next);
    return;
  }
}

void ReplyParser::visible_byte(char c) {
  if (is_reply_blank(c)) {
    blank_ += c;
    return;
  }
  const bool bare = format_.family == CallFamily::kLlama || format_.family == CallFamily::kBareJson;
  if (bare && empty_ && shown_ == EventKind::kText) {
    if (c == ';' && trims_) return emit(EventKind::kMarkup, "", std::exchange(blank_, "") + c);
    if (c == '{' && !tools_.empty()) {
      call_raw_ = std::exchange(blank_, "");
      bare_ = true;
      start_reader(json_call_reader(*this, &tools_));
      return read_call(c);
    }
  }
  if (!blank_.empty()) {
    const std::string blank = std::exchange(blank_, "");
    if (trims_) {
      emit(EventKind::kMarkup, "", blank);
    } else {
      emit(shown_, blank, blank);
    }
  }
  trims_ = false;
  emit(shown_, {&c, 1}, std::string(1, c));
  if (empty_ && shown_ == EventKind::kText) {
    empty_ = false;
    set_marks();
  }
}

void ReplyParser::open(const Mark& mark) {
  held_.clear();
  if (mark.kind == MarkKind::kHeader) {
    if (!blank_.empty()) emit(shown_, blank_, blank_);
    blank_.clear();
    call_raw_ = mark.text;
    state_ = State::kHeader;
    return;
  }
  if (mark.kind == MarkKind::kEnd && format_.family == CallFamily::kChannels && !blank_.empty()) {
    emit(shown_, blank_, blank_);
    blank_.clear();
  }
  const std::string raw = std::exchange(blank_, "") + mark.text;
  switch (mark.kind) {
    case MarkKind::kReasoning:
      emit(EventKind::kMarkup, "", raw);
      return show_in(EventKind::kReasoning, true);
    case MarkKind::kEndOfReasoning:
      emit(EventKind::kMarkup, "", raw);
      return show_in(EventKind::kText, true);
    case MarkKind::kCall:
      call_raw_ = raw;
      return start_reader(json_call_reader(*this, nullptr));
    case MarkKind::kTags:
      call_raw_ = raw;
      return start_reader(tagged_call_reader(*this, tools_));
    case MarkKind::kList:
      call_raw_ = raw;
      state_ = State::kCallStart;
      return;
    case MarkKind::kEnd:
      emit(EventKind::kMarkup, "", raw);
      return show_in(EventKind::kText, true);
    case MarkKind::kHeader:
      return;
  }
}

void ReplyParser::start_reader(std::unique_ptr<CallReader> reader) {
  reader_ = std::move(reader);
  begun_ = false;
  arguments_.clear();
  id_.clear();
  state_ = State::kCall;
}

void ReplyParser::begin(const std::string& name) {
  begun_ = true;
  emit(EventKind::kCallBegin, name, std::exchange(call_raw_, ""));
  events_->back().id = id_;
}

void ReplyParser::arguments(std::string_view piece) {
  arguments_ += piece;
  emit(EventKind::kArguments, piece, std::exchange(call_raw_, ""));
}

void ReplyParser::read_call(char c) {
  call_raw_ += c;
  const CallReader::Result result = reader_->push(c);
  if (result == CallReader::Result::kMore) return;
  if (result == CallReader::Result::kBroken) {
    // Usually this byte is still to be read. It is not if it ended a value that was passed on.
    const bool unread = !call_raw_.empty();
    if (unread) call_raw_.pop_back();
    give_up_call();
    if (unread) step(c);
    return;
  }
  if (format_.family == CallFamily::kHermes) {
    state_ = State::kAfterCall;
    return;
  }
  end_call(true);
}

void ReplyParser::end_call(bool complete) {
  const bool json = nlohmann::json::accept(arguments_);
  emit(EventKind::kCallEnd, "", std::exchange(call_raw_, ""));
  events_->back().complete = complete && json;
  if (complete && !json) emit(EventKind::kWarning, "the arguments of a tool call are not JSON", "");
  reader_.reset();
  bare_ = false;
  show_in(EventKind::kText, true);
  if (in_list_) state_ = State::kList;
}

/// Bytes that were read as a call become text. A call that has begun ends if it cannot be parsed.
void ReplyParser::give_up_call() {
  const std::string raw = std::exchange(call_raw_, "");
  const bool bare = std::exchange(bare_, false);
  in_list_ = false;
  if (begun_) {
    emit(EventKind::kCallEnd, "", "");
    events_->back().complete = false;
  }
  reader_.reset();
  empty_ = false;
  show_in(EventKind::kText, false);
  if (!raw.empty()) emit(EventKind::kText, raw, raw);
  if (!bare || begun_) emit(EventKind::kWarning, "a tool call does not parse", "");
}

void ReplyParser::after_call(char c) {
  held_ += c;
  std::string_view tag = held_;
  while (!tag.empty() && is_reply_blank(tag[0])) tag.remove_prefix(1);
  if (tag == kEndOfToolCall) {
    call_raw_ += std::exchange(held_, "");
    return end_call(true);
  }
  if (kEndOfToolCall.starts_with(tag)) return;
  const std::string bytes = std::exchange(held_, "");
  end_call(true);
  for (const char next : bytes) step(next);
}

void ReplyParser::call_start(char c) {
  if (is_reply_blank(c)) {
    call_raw_ += c;
  } else if (c == '[') {
    in_list_ = true;
    emit(EventKind::kMarkup, "", std::exchange(call_raw_, "") + c);
    state_ = State::kList;
  } else if (c == '{') {
    start_reader(json_call_reader(*this, nullptr));
    read_call(c);
  } else {
    start_reader(named_call_reader(*this));
    read_call(c);
  }
}

void ReplyParser::in_list(char c) {
  if (c == '{') {
    start_reader(json_call_reader(*this, nullptr));
    return read_call(c);
  }
  if (c == ']' || c == ',' || is_reply_blank(c)) {
    emit(EventKind::kMarkup, "", std::string(1, c));
    if (c != ']') return;
    in_list_ = false;
    return show_in(EventKind::kText, true);
  }
  in_list_ = false;
  show_in(EventKind::kText, true);
  step(c);
}

void ReplyParser::header(char c) {
  call_raw_ += c;
  if (call_raw_.ends_with("<|message|>")) return end_header();
  if (call_raw_.size() > kLongestHeader) {
    begun_ = false;
    give_up_call();
  }
}

void ReplyParser::end_header() {
  const std::string name = after_mark(call_raw_, "to=functions.");
  if (!name.empty()) {
    start_reader(arguments_reader(*this));
    return begin(name);
  }
  const std::string channel = after_mark(call_raw_, "<|channel|>");
  emit(EventKind::kMarkup, "", std::exchange(call_raw_, ""));
  show_in(channel.starts_with("analysis") ? EventKind::kReasoning : EventKind::kText, false);
}

void ReplyParser::finish(bool cut, std::vector<ReplyEvent>& events) {
  events_ = &events;
  if (state_ == State::kAfterCall) {
    const std::string bytes = std::exchange(held_, "");
    call_raw_ += bytes;
    end_call(true);
  } else if (state_ == State::kCall && begun_) {
    in_list_ = false;
    end_call(false);
    emit(EventKind::kWarning,
         cut ? "the reply was cut inside of a tool call" : "the reply ended inside of a tool call",
         "");
  } else if (state_ == State::kCall || state_ == State::kCallStart || state_ == State::kHeader) {
    begun_ = false;
    give_up_call();
  }
  state_ = State::kVisible;
  marks_.clear();
  for (const char c : std::exchange(held_, "")) {
    blank_ += c;  // not a mark after all
  }
  if (blank_.empty()) return;
  const bool blank = std::all_of(blank_.begin(), blank_.end(), is_reply_blank);
  emit(blank && trims_ ? EventKind::kMarkup : shown_, blank && trims_ ? "" : blank_, blank_);
  blank_.clear();
}

}  // namespace longhaul::serve
