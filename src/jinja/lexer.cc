#include "jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "jinja/string.h"
#include "jinja/tag_scanner.h"

namespace longhaul::jinja {
namespace {

constexpr size_t kNone = std::string_view::npos;

/// Converts line ends to \n and removes one at the very end.
std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      out += '\n';
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const size_t tag = next_tag();
      if (tag == kNone) {
        add_data(source_.substr(at_));
        break;
      }
      text_before(tag);
      read_tag(tag);
    }
    out_.push_back({TokenKind::end, "", line_});
    return std::move(out_);
  }

 private:
  size_t next_tag() const {
    for (size_t at = at_; (at = source_.find('{', at)) != kNone; ++at) {
      const char next = at + 1 < source_.size() ? source_[at + 1] : ' ';
      if (next == '{' || next == '%' || next == '#') return at;
    }
    return kNone;
  }

  char byte(size_t at) const { return at < source_.size() ? source_[at] : '\0'; }

  void add_data(std::string_view text) {
    if (!text.empty()) out_.push_back({TokenKind::data, std::string(text), line_});
    line_ += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

  /// The text before a tag without the white space that the tag removes: all of it with `-`;
  /// without a sign, the part before a block or comment on its line.
  std::string_view kept(std::string_view text, char sign, bool is_variable) const {
    if (sign == '-') return text.substr(0, without_space(text, false, true).end);
    if (sign == '+' || is_variable) return text;
    const size_t line = text.rfind('\n') + 1;  // 0 if there is none
    if (line == 0 && !line_begins_) return text;
    const bool blank = without_space(text.substr(line), false, true).end == 0;
    return blank ? text.substr(0, line) : text;
  }

  void text_before(size_t tag) {
    const std::string_view text = source_.substr(at_, tag - at_);
    const std::string_view part = kept(text, byte(tag + 2), byte(tag + 1) == '{');
    add_data(part);
    const std::string_view dropped = text.substr(part.size());
    line_ += static_cast<int>(std::count(dropped.begin(), dropped.end(), '\n'));
  }

  void read_tag(size_t tag) {
    const char kind = byte(tag + 1), sign = byte(tag + 2);
    at_ = tag + (sign == '-' || (sign == '+') ? 3 : 2);
    if (kind == '#') return skip_comment();
    if (kind == '%' && raw_begins()) return read_raw();
    const bool variable = kind == '{';
    const TokenKind begin = variable ? TokenKind::variable_begin : TokenKind::block_begin;
    out_.push_back({begin, "", line_});
    scan_tag(source_, at_, line_, variable ? "}}" : "%}", out_);
    out_.push_back({variable ? TokenKind::variable_end : TokenKind::block_end, "", line_});
    close(!variable);
  }

  /// Advances past the end of a tag at `at_`, and past the white space that it removes.
  void close(bool trims_line_break) {
    const char sign = byte(at_);
    const size_t begin = at_;
    at_ += sign == '-' || sign == '+' ? 3 : 2;
    if (sign == '-') {
      at_ += without_space(source_.substr(at_), true, false).begin;
    } else if (sign != '+' && trims_line_break && byte(at_) == '\n') {
      ++at_;
    }
    const std::string_view past = source_.substr(begin, at_ - begin);
    line_ += static_cast<int>(std::count(past.begin(), past.end(), '\n'));
    line_begins_ = past.ends_with('\n');
  }

  void skip_comment() {
    const size_t end = source_.find("#}", at_);
    if (end == kNone) throw SyntaxError{"'#}' is missing", line_};
    const std::string_view comment = source_.substr(at_, end - at_);
    line_ += static_cast<int>(std::count(comment.begin(), comment.end(), '\n'));
    const bool signed_end = end > at_ && (byte(end - 1) == '-' || byte(end - 1) == '+');
    at_ = signed_end ? end - 1 : end;
    close(true);
  }

  /// If `word` stands alone in a tag whose inside begins at `at`, returns the offset of its end;
  /// otherwise 0.
  size_t lone_word(size_t at, std::string_view word) const {
    at += without_space(source_.substr(at), true, false).begin;
    if (!source_.substr(at).starts_with(word)) return 0;
    at += word.size();
    at += without_space(source_.substr(at), true, false).begin;
    const std::string_view rest = source_.substr(at);
    const bool closes = rest.starts_with("%}") || rest.starts_with("-%}") ||
                        (rest.starts_with("+%}") && word == "endraw");
    return closes ? at : 0;
  }

  bool raw_begins() const { return lone_word(at_, "raw") != 0; }

  void read_raw() {
    const size_t inside = lone_word(at_, "raw");
    const std::string_view tag = source_.substr(at_, inside - at_);
    line_ += static_cast<int>(std::count(tag.begin(), tag.end(), '\n'));
    at_ = inside;
    close(false);
    for (size_t end = at_; (end = source_.find("{%", end)) != kNone; ++end) {
      const char sign = byte(end + 2);
      const size_t word = end + (sign == '-' || sign == '+' ? 3 : 2);
      const size_t past = lone_word(word, "endraw");
      if (past == 0) continue;
      const std::string_view text = source_.substr(at_, end - at_);
      add_data(kept(text, sign, false));
      at_ = past;
      return close(true);
    }
    throw SyntaxError{"'endraw' is missing", line_};
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_begins_ = true;  // the text read last ends with a line break
  std::vector<Token> out_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
  const std::string text = normalized(source);
  return Lexer(text).run();
}

}  // namespace longhaul::jinja
