#include "text/terminal_text.h"

#include "text/utf8.h"

namespace longhaul {

namespace {

bool is_control(uint32_t code_point) {
  return (code_point < 0x20 && code_point != '\n' && code_point != '\t') ||
         (code_point >= 0x7f && code_point < 0xa0) || changes_layout(code_point);
}

}  // namespace

std::string TerminalText::push(std::string_view text) {
  held_ += text;
  std::string out;
  size_t at = 0;
  while (at < held_.size()) {
    const std::string_view rest = std::string_view(held_).substr(at);
    const Utf8Sequence next = read_utf8(rest);
    const bool undecided = next.status == Utf8Status::truncated || rest == "\r";
    if (undecided) break;
    if (rest.starts_with("\r\n")) {
      ++at;
      continue;
    }
    const bool shown = next.status == Utf8Status::complete && !is_control(next.code_point);
    out += shown ? rest.substr(0, next.bytes) : kReplacementCharacter;
    at += next.bytes;
  }
  held_.erase(0, at);
  return out;
}

std::string terminal_text(std::string_view text) {
  TerminalText filter;
  std::string out = filter.push(text) + filter.push(" ");  // the blank completes pending bytes
  out.pop_back();
  return out;
}

}  // namespace longhaul
