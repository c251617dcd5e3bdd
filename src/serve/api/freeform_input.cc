#include "serve/api/freeform_input.h"

#include <nlohmann/json.hpp>

#include "documents/clean_text.h"
#include "text/utf8.h"

namespace longhaul::serve {
namespace {

/// Whether the arguments so far are {"input": " with any blanks.
bool begins_input(std::string_view arguments) {
  constexpr std::string_view kBegin = "{\"input\":\"";
  size_t at = 0;
  for (const char c : arguments) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (blank && (at <= 1 || at >= 8)) continue;
    if (at == kBegin.size() || kBegin[at] != c) return false;
    ++at;
  }
  return at == kBegin.size();
}

}  // namespace

void FreeformInput::put_lone(std::string& text) {
  if (high_ != 0) text += kReplacementCharacter;
  high_ = 0;
}

void FreeformInput::end_unicode(std::string& text) {
  const auto code = static_cast<unsigned>(std::stoul(digits_, nullptr, 16));
  digits_.clear();
  if (code >= 0xdc00 && code < 0xe000 && high_ != 0) {
    append_utf8(0x10000 + ((high_ - 0xd800) << 10) + (code - 0xdc00), text);
    high_ = 0;
    return;
  }
  put_lone(text);
  if (code >= 0xd800 && code < 0xdc00) {
    high_ = code;
  } else if (code >= 0xdc00 && code < 0xe000) {
    text += kReplacementCharacter;
  } else {
    append_utf8(code, text);
  }
}

void FreeformInput::step(char c, std::string& text) {
  constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  switch (state_) {
    case State::kBefore:
      if (c == '"' && begins_input(arguments_)) state_ = State::kText;
      return;
    case State::kText:
      if (c == '\\') {
        state_ = State::kEscape;
        return;
      }
      put_lone(text);
      if (c == '"') {
        state_ = State::kAfter;
      } else {
        text += c;
      }
      return;
    case State::kEscape: {
      state_ = c == 'u' ? State::kUnicode : State::kText;
      const size_t at = kNames.find(c);
      if (c == 'u' || at == std::string_view::npos) return;
      put_lone(text);
      text += kMeant[at];
      return;
    }
    case State::kUnicode:
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) c = '0';
      digits_ += c;
      if (digits_.size() < 4) return;
      state_ = State::kText;
      end_unicode(text);
      return;
    case State::kAfter:
      return;
  }
}

std::string FreeformInput::push(std::string_view arguments) {
  std::string text;
  for (const char c : arguments) {
    if (state_ == State::kBefore) arguments_ += c;
    step(c, text);
  }
  return text;
}

std::string FreeformInput::finish() {
  std::string text;
  put_lone(text);
  if (state_ != State::kBefore) return text;
  const auto json = nlohmann::json::parse(arguments_, nullptr, false);
  if (!json.is_object()) return arguments_;
  if (json.contains("input") && json["input"].is_string()) return json["input"];
  if (json.size() == 1 && json.begin()->is_string()) return *json.begin();
  return arguments_;
}

}  // namespace longhaul::serve
