#include "jinja/tag_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "jinja/string.h"
#include "text/printable.h"
#include "text/utf8.h"

namespace longhaul::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
         static_cast<uint8_t>(c) >= 0x80;
}

void append_code_point(std::string& out, uint32_t c) {
  if (c >= 0xD800 && c <= 0xDFFF) {
    out += kReplacementCharacter;  // halves of a surrogate pair are not characters
  } else if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
            static_cast<char>(0x80 | (c & 0x3F))};
  } else {
    out += {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
            static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
  }
}

/// Decodes a string literal: Python's unicode_escape.
class Unescape {
 public:
  Unescape(std::string_view text, int line) : text_(text), line_(line) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (text_[at_] != '\\' || at_ + 1 == text_.size()) {
        out_ += text_[at_++];
      } else {
        at_ += 2;
        escape(text_[at_ - 1]);
      }
    }
    return std::move(out_);
  }

 private:
  void escape(char c) {
    constexpr std::string_view kNames = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
    const size_t simple = kNames.find(c);
    if (simple != std::string_view::npos) {
      out_ += kMeanings[simple];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      code(16, c == 'x' ? 2 : c == 'u' ? 4 : 8, true);
    } else if (c >= '0' && c <= '7') {
      --at_;
      code(8, 3, false);
    } else if (c == 'N') {
      throw SyntaxError{"characters by name (\\N{...}) are not supported", line_};
    } else if (c != '\n') {
      out_ += '\\';
      out_ += c;
    }
  }

  void code(int base, size_t digits, bool all) {
    uint32_t value = 0;
    const char* const begin = text_.data() + at_;
    const char* const limit = begin + std::min(digits, text_.size() - at_);
    const auto [end, error] = std::from_chars(begin, limit, value, base);
    const auto found = static_cast<size_t>(end - begin);
    if (error != std::errc() || (all && found != digits) || value > 0x10FFFF) {
      throw SyntaxError{"a string has a broken escape of a character", line_};
    }
    at_ += found;
    append_code_point(out_, value);
  }

  std::string_view text_;
  int line_;
  size_t at_ = 0;
  std::string out_;
};

class TagScanner {
 public:
  TagScanner(std::string_view source, size_t at, int line, std::vector<Token>& out)
      : source_(source), at_(at), line_(line), out_(out) {}

  void run(std::string_view close) {
    while (!closes(close)) {
      skip_space();
      if (closes(close)) break;
      if (at_ == source_.size()) {
        throw SyntaxError{fmt::format("'{}' is missing", close), line_};
      }
      token();
    }
  }
  size_t at() const { return at_; }
  int line() const { return line_; }

 private:
  bool closes(std::string_view close) const {
    if (!brackets_.empty()) return false;
    const std::string_view rest = source_.substr(at_);
    if (rest.starts_with(close)) return true;
    const bool sign = rest.starts_with('-') || (rest.starts_with('+') && close == "%}");
    return sign && rest.substr(1).starts_with(close);
  }

  void skip_space() {
    while (at_ < source_.size()) {
      const Utf8Sequence next = read_utf8(source_.substr(at_));
      if (next.status != Utf8Status::complete || !is_python_space(next.code_point)) return;
      if (source_[at_] == '\n') ++line_;
      at_ += next.bytes;
    }
  }

  void token() {
    const char c = source_[at_];
    if (is_digit(c)) return number();
    if (is_name_byte(c)) return name();
    if (c == '"' || c == '\'') return string();
    symbol();
  }

  void add(TokenKind kind, std::string text) { out_.push_back({kind, std::move(text), line_}); }

  void name() {
    const size_t begin = at_;
    while (at_ < source_.size() && is_name_byte(source_[at_])) ++at_;
    add(TokenKind::name, std::string(source_.substr(begin, at_ - begin)));
  }

  void string() {
    const char quote = source_[at_];
    const int line = line_;
    const size_t begin = at_ + 1;
    size_t end = begin;
    for (; end < source_.size() && source_[end] != quote; ++end) {
      if (source_[end] == '\n') ++line_;
      if (source_[end] != '\\') continue;
      ++end;
      if (end < source_.size() && source_[end] == '\n') ++line_;
    }
    if (end >= source_.size()) throw SyntaxError{"a string does not end", line};
    std::string text = Unescape(source_.substr(begin, end - begin), line).run();
    at_ = end + 1;
    out_.push_back({TokenKind::string, std::move(text), line});
  }

  /// Reads digits at `at_`, with single _ between them.
  std::string digits(std::string_view allowed) {
    std::string found;
    for (;;) {
      const bool underscore = !found.empty() && at_ < source_.size() && source_[at_] == '_';
      const size_t at = at_ + (underscore ? 1 : 0);
      if (at >= source_.size() || allowed.find(source_[at]) == std::string_view::npos) {
        return found;
      }
      found += source_[at];
      at_ = at + 1;
    }
  }

  void number() {
    constexpr std::string_view kDecimal = "0123456789";
    const bool attribute = at_ > 0 && source_[at_ - 1] == '.';  // in `x.1.2`, which is not a float
    if (source_[at_] == '0' && at_ + 1 < source_.size()) {
      const char base = static_cast<char>(source_[at_ + 1] | 0x20);
      if (base == 'x') return based(16, "0123456789abcdefABCDEF");
      if (base == 'o') return based(8, "01234567");
      if (base == 'b') return based(2, "01");
    }
    std::string text = digits(kDecimal);
    bool real = false;
    if (!attribute && followed_by('.', kDecimal, 1)) {
      ++at_;
      (text += '.') += digits(kDecimal);
      real = true;
    }
    const size_t sign =
        at_ + 1 < source_.size() && (source_[at_ + 1] == '+' || source_[at_ + 1] == '-') ? 1 : 0;
    const bool exponent =
        followed_by('e', kDecimal, 1 + sign) || followed_by('E', kDecimal, 1 + sign);
    if (!attribute && exponent) {
      text += 'e';
      if (sign != 0) text += source_[at_ + 1];
      at_ += 1 + sign;
      text += digits(kDecimal);
      real = true;
    }
    add(real ? TokenKind::real : TokenKind::integer, text);
  }

  bool followed_by(char c, std::string_view then, size_t distance) const {
    return at_ + distance < source_.size() && source_[at_] == c &&
           then.find(source_[at_ + distance]) != std::string_view::npos;
  }

  void based(int base, std::string_view allowed) {
    at_ += 2;
    const std::string text = digits(allowed);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || text.empty()) throw SyntaxError{"a number is out of range", line_};
    add(TokenKind::integer, std::to_string(value));
  }

  void symbol() {
    constexpr std::string_view kTwo[] = {"//", "**", "==", "!=", ">=", "<="};
    constexpr std::string_view kOne = "+-/*%~[](){}><=.:|,;";
    const std::string_view rest = source_.substr(at_);
    for (const std::string_view two : kTwo) {
      if (!rest.starts_with(two)) continue;
      at_ += 2;
      return add(TokenKind::symbol, std::string(two));
    }
    const char c = rest[0];
    if (kOne.find(c) == std::string_view::npos) {
      throw SyntaxError{fmt::format("unexpected character {}", printable(rest.substr(0, 1))),
                        line_};
    }
    if (c == '(' || c == '[' || c == '{') brackets_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (brackets_.empty() || brackets_.back() != c) {
        throw SyntaxError{fmt::format("unexpected '{}'", c), line_};
      }
      brackets_.pop_back();
    }
    ++at_;
    add(TokenKind::symbol, std::string(1, c));
  }

  std::string_view source_;
  size_t at_;
  int line_;
  std::vector<Token>& out_;
  std::string brackets_;  // closing brackets of the open ones
};

}  // namespace

void scan_tag(std::string_view source, size_t& at, int& line, std::string_view close,
              std::vector<Token>& out) {
  TagScanner scanner(source, at, line, out);
  scanner.run(close);
  at = scanner.at();
  line = scanner.line();
}

}  // namespace longhaul::jinja
