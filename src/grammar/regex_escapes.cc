#include "grammar/regex_escapes.h"

#include <string>

#include "base/error.h"
#include "text/printable.h"
#include "text/utf8.h"

namespace longhaul::grammar {
namespace {

const CharSet kDigits = {{'0', '9'}};
const CharSet kWordCharacters = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const CharSet kBlanks = {{'\t', '\r'}, {' ', ' '}};  // \t \n \v \f \r and the space

CharSet category(std::string_view pattern, size_t& at, bool complement) {
  std::string name;
  if (at < pattern.size() && pattern[at] == '{') {
    const size_t close = pattern.find('}', at);
    if (close == std::string_view::npos) user_error("\\p has no closing brace");
    name = pattern.substr(at + 1, close - at - 1);
    at = close + 1;
  } else if (at < pattern.size()) {
    name = pattern[at++];
  }
  const CharSet& set = unicode_category(name);
  return complement ? set.complement() : set;
}

}  // namespace

char32_t read_character(std::string_view text, size_t& at) {
  const Utf8Sequence next = read_utf8(text.substr(at));
  if (next.status != Utf8Status::complete) user_error("the text is not UTF-8 at byte {}", at);
  at += next.bytes;
  return next.code_point;
}

char32_t read_hex(std::string_view text, size_t& at, int digits) {
  char32_t value = 0;
  for (int i = 0; i < digits; ++i, ++at) {
    const char c = at < text.size() ? text[at] : '\0';
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) user_error("an escape needs {} hexadecimal digits at byte {}", digits, at);
    value = value * 16 + static_cast<char32_t>(digit);
  }
  if (value > kLastCharacter || (value >= 0xD800 && value <= 0xDFFF)) {
    user_error("an escape stands for no character before byte {}", at);
  }
  return value;
}

CharSet read_regex_escape(std::string_view pattern, size_t& at, bool in_class) {
  if (at >= pattern.size()) user_error("a pattern ends with a backslash");
  const auto one = [](char32_t c) { return CharSet{{c, c}}; };
  const char c = pattern[at];
  if (static_cast<unsigned char>(c) >= 0x80) return one(read_character(pattern, at));
  ++at;
  switch (c) {
    case 'd':
      return kDigits;
    case 'D':
      return kDigits.complement();
    case 'w':
      return kWordCharacters;
    case 'W':
      return kWordCharacters.complement();
    case 's':
      return kBlanks;
    case 'S':
      return kBlanks.complement();
    case 'n':
      return one('\n');
    case 't':
      return one('\t');
    case 'r':
      return one('\r');
    case 'f':
      return one('\f');
    case 'v':
      return one('\v');
    case '0':
      return one(0);
    case 'x':
      return one(read_hex(pattern, at, 2));
    case 'u': {
      if (at < pattern.size() && pattern[at] == '{') {
        const size_t close = pattern.find('}', at);
        const size_t digits = close == std::string_view::npos ? 0 : close - at - 1;
        if (digits < 1 || digits > 6) user_error("\\u{{...}} needs 1 to 6 hexadecimal digits");
        const char32_t value = read_hex(pattern, ++at, static_cast<int>(digits));
        ++at;
        return one(value);
      }
      return one(read_hex(pattern, at, 4));
    }
    case 'p':
      return category(pattern, at, false);
    case 'P':
      return category(pattern, at, true);
    case 'b':
      if (in_class) return one('\b');
      break;
    default:
      if ((c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z'))
        return one(static_cast<char32_t>(c));
  }
  user_error("\\{} is not supported in a pattern", c);
}

}  // namespace longhaul::grammar
