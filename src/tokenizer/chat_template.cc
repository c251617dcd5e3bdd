#include "tokenizer/chat_template.h"

#include "base/error.h"
#include "text/utf8.h"
#include "tokenizer/chat_formats.h"

namespace longhaul {

namespace {

using System = ChatFormat::System;
using Trim = ChatFormat::Trim;

std::string_view trim_newlines(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  return text;
}

struct ThoughtReply {
  std::string_view thought, answer;
};

/// A reply's thinking, which ends with `</think>`, and what follows it.
ThoughtReply split_thinking(std::string_view reply) {
  constexpr std::string_view kBegin = "<think>", kEnd = "</think>";
  const size_t first_end = reply.find(kEnd);
  if (first_end == std::string_view::npos) return {{}, reply};
  std::string_view thought = reply.substr(0, first_end);
  if (const size_t begin = thought.rfind(kBegin); begin != std::string_view::npos) {
    thought.remove_prefix(begin + kBegin.size());
  }
  thought = trim_newlines(thought);
  while (thought.ends_with('\n')) thought.remove_suffix(1);
  return {thought, trim_newlines(reply.substr(reply.rfind(kEnd) + kEnd.size()))};
}

}  // namespace

/// Puts a conversation's segments together; neighbours of one kind are joined.
class ChatRenderer {
 public:
  explicit ChatRenderer(const ChatTemplate& source) : source_(source), format_(*source.format_) {}

  /// Text of the template.
  void fixed(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      if (text.starts_with("{bos}")) {
        if (source_.writes_bos_) out += source_.tokens_.bos;
        text.remove_prefix(5);
      } else if (text.starts_with("{eos}")) {
        out += source_.tokens_.eos;
        text.remove_prefix(5);
      } else if (text.starts_with("{date}")) {
        out += source_.date_;
        text.remove_prefix(6);
      } else {
        out += text.front();
        text.remove_prefix(1);
      }
    }
    add(out, true);
  }

  /// Text of a message.
  void content(std::string_view text) { add(text, false); }

  void begin() {
    fixed(format_.begin);
    // Templates that differ from a format only by BOS in front.
    if (source_.writes_bos_ && format_.begin.empty() &&
        format_.user_before.find("{bos}") == std::string_view::npos) {
      fixed("{bos}");
    }
  }

  /// `own`: the text is the template's own.
  void system_turn(std::string_view text, bool own) {
    fixed(format_.system_before);
    add(format_.trim == Trim::all ? trim_front(trim_back(text)) : text, own);
    fixed(format_.system_after);
  }

  /// `system`: a message that goes into this turn, or null.
  void user_turn(std::string_view text, const std::string* system = nullptr) {
    fixed(format_.user_before);
    if (system != nullptr) {
      fixed(format_.system_before);
      content(*system);
      fixed(format_.system_after);
    }
    if (format_.trim == Trim::all) {
      text = trim_back(text);
      if (system == nullptr) text = trim_front(text);  // otherwise it is not at the beginning
    }
    content(text);
    fixed(format_.user_after);
  }

  /// `last`: nothing comes after it.
  void reply(std::string_view text, bool last) {
    fixed(format_.reply_before);
    if (format_.drops_thinking) {
      const ThoughtReply parts = split_thinking(text);
      text = parts.answer;
      if (last) {
        fixed("<think>\n");
        content(parts.thought);
        fixed("\n</think>\n\n");
        text = trim_newlines(text);
      }
    }
    content(format_.trim != Trim::none ? trim_front(trim_back(text)) : text);
    fixed(format_.reply_gap);
    fixed(format_.reply_end);
    fixed(format_.reply_tail);
  }

  std::vector<TextSegment> take() { return std::move(segments_); }

 private:
  void add(std::string_view text, bool parse_special) {
    if (text.empty()) return;
    if (segments_.empty() || segments_.back().parse_special != parse_special) {
      segments_.push_back({{}, parse_special});
    }
    segments_.back().text += text;
  }

  const ChatTemplate& source_;
  const ChatFormat& format_;
  std::vector<TextSegment> segments_;
};

namespace {

void check_roles(const ChatFormat& format, std::span<const ChatMessage> messages) {
  ChatRole expected = ChatRole::user;
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatRole role = messages[i].role;
    if (role == ChatRole::system) {
      if (i != 0) user_error("chat: message {} is a system message; it must be the first", i + 1);
      if (format.system == System::none) {
        user_error("chat template {} has no place for a system message", format.name);
      }
      continue;
    }
    if (format.alternates && role != expected) {
      user_error("chat template {}: message {} should come from the {}", format.name, i + 1,
                 expected == ChatRole::user ? "user" : "assistant");
    }
    expected = role == ChatRole::user ? ChatRole::assistant : ChatRole::user;
  }
}

}  // namespace

ChatTemplate::ChatTemplate(const ChatFormat& format, std::string default_system, bool writes_bos,
                           ChatTokens tokens)
    : format_(&format),
      default_system_(std::move(default_system)),
      writes_bos_(writes_bos),
      tokens_(std::move(tokens)) {
  if (tokens_.bos.empty()) tokens_.bos = format.bos;
  if (tokens_.eos.empty()) tokens_.eos = format.eos;
}

std::string_view ChatTemplate::name() const { return format_->name; }
bool ChatTemplate::holds_system() const { return format_->system != System::none; }

std::vector<TextSegment> ChatTemplate::segments(std::span<const ChatMessage> messages,
                                                bool add_generation_prompt) const {
  check_roles(*format_, messages);
  const bool has_system = !messages.empty() && messages[0].role == ChatRole::system;
  const std::string& system = has_system ? messages[0].content : default_system_;
  const System place = format_->system;
  ChatRenderer out(*this);
  out.begin();
  if (place == System::always || (place == System::own_turn && (has_system || !system.empty()))) {
    out.system_turn(system, !has_system);
  }
  const std::span<const ChatMessage> turns = messages.subspan(has_system ? 1 : 0);
  for (size_t i = 0; i < turns.size(); ++i) {
    if (turns[i].role == ChatRole::assistant) {
      out.reply(turns[i].content, i + 1 == turns.size());
      continue;
    }
    const bool holds = has_system && ((place == System::first_user && i == 0) ||
                                      (place == System::last_user && i + 1 == turns.size()));
    out.user_turn(turns[i].content, holds ? &system : nullptr);
  }
  out.fixed(add_generation_prompt ? format_->generation_prompt : format_->finish);
  return out.take();
}

std::string ChatTemplate::render(std::span<const ChatMessage> messages,
                                 bool add_generation_prompt) const {
  std::string out;
  for (const TextSegment& segment : segments(messages, add_generation_prompt)) {
    out += segment.text;
  }
  return out;
}

std::vector<TextSegment> ChatTemplate::further_turn(std::string_view user_text,
                                                    bool reply_closed) const {
  ChatRenderer out(*this);
  if (!reply_closed) {
    out.fixed(format_->reply_gap);
    out.fixed(format_->reply_end);
  }
  out.fixed(format_->reply_tail);
  out.user_turn(user_text);
  out.fixed(format_->generation_prompt);
  return out.take();
}

std::vector<std::string_view> chat_template_names() {
  std::vector<std::string_view> names;
  for (const ChatFormat& format : chat_formats()) names.push_back(format.name);
  return names;
}

}  // namespace longhaul
