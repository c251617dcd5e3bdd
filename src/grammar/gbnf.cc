#include "grammar/gbnf.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "base/seeded_hash.h"
#include "grammar/regex_escapes.h"
#include "text/printable.h"

namespace longhaul::grammar {
namespace {

constexpr int kDeepest = 100;
constexpr int64_t kMostRepeats = 1'000'000;

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfReader {
 public:
  GbnfReader(std::string_view text, Syntax& syntax) : text_(text), syntax_(syntax) {}

  RuleNumber read() {
    skip_blanks();
    while (at_ < text_.size()) {
      const std::string name = rule_name();
      skip_blanks();
      if (!take("::=")) fail("a rule needs ::= after its name {}", printable(name));
      const RuleNumber rule = number_of(name);
      if (defined_[rule]) fail("the rule {} is defined twice", printable(name));
      defined_[rule] = true;
      syntax_.define(rule, choice(0));
    }
    for (const auto& [name, rule] : numbers_) {
      if (!defined_[rule]) user_error("the rule {} is not defined", printable(name));
    }
    const auto root = numbers_.find("root");
    if (root == numbers_.end()) user_error("the grammar has no rule named root");
    return root->second;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    const auto line = std::count(
        text_.begin(), text_.begin() + static_cast<ptrdiff_t>(std::min(at_, text_.size())), '\n');
    user_error("line {}: {}", line + 1, fmt::format(format, std::forward<Args>(args)...));
  }

  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string rule_name() {
    const size_t begin = at_;
    while (name_character(peek())) ++at_;
    if (at_ == begin) {
      if (peek() == '<' || peek() == '!') fail("tokens in angle brackets are not supported");
      size_t end = at_;
      const char32_t c = read_character(text_, end);
      fail("{} is not expected here",
           c == 0 ? "a zero byte" : printable(text_.substr(at_, end - at_)));
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  RuleNumber number_of(const std::string& name) {
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    const RuleNumber rule = syntax_.add_rule(name);
    defined_.resize(syntax_.rules().size());
    return numbers_[name] = rule;
  }

  /// Whether the next rule begins here.
  bool rule_begins() {
    size_t ahead = at_;
    while (ahead < text_.size() && name_character(text_[ahead])) ++ahead;
    if (ahead == at_) return false;
    while (ahead < text_.size() && (text_[ahead] == ' ' || text_[ahead] == '\t')) ++ahead;
    return text_.substr(ahead).starts_with("::=");
  }

  Expression choice(int depth) {
    if (depth > kDeepest) fail("groups nest deeper than {}", kDeepest);
    std::vector<Expression> alternatives;
    do {
      alternatives.push_back(sequence(depth));
    } while (take("|"));
    return syntax_.choice(alternatives);
  }

  Expression sequence(int depth) {
    std::vector<Expression> parts;
    for (;;) {
      skip_blanks();
      if (at_ >= text_.size() || peek() == '|' || peek() == ')' || rule_begins()) break;
      Expression part = atom(depth);
      for (;;) {
        // Blanks may precede a repeat, but a repeat never begins a line.
        while (peek() == ' ' || peek() == '\t') ++at_;
        const auto times = repeat();
        if (!times) break;
        part = syntax_.repeat(part, times->first, times->second);
      }
      parts.push_back(part);
    }
    return syntax_.sequence(parts);
  }

  Expression atom(int depth) {
    if (take("\"")) return literal();
    if (take("[")) return syntax_.chars(char_class());
    if (take(".")) return syntax_.chars(CharSet::any());
    if (take("(")) {
      const Expression group = choice(depth + 1);
      if (!take(")")) fail("a group has no )");
      return group;
    }
    return syntax_.call(number_of(rule_name()));
  }

  char32_t character() {
    if (at_ >= text_.size()) fail("a text or a class has no end");
    if (!take("\\")) return read_character(text_, at_);
    const char c = peek();
    ++at_;
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'x':
        return read_hex(text_, at_, 2);
      case 'u':
        return read_hex(text_, at_, 4);
      case 'U':
        return read_hex(text_, at_, 8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
      case '/':
        return static_cast<char32_t>(c);
      default:
        --at_;
        fail("an unknown escape");
    }
  }

  Expression literal() {
    std::vector<Expression> parts;
    while (!take("\"")) {
      const char32_t c = character();
      parts.push_back(syntax_.chars({{c, c}}));
    }
    return syntax_.sequence(parts);
  }

  CharSet char_class() {
    const bool negated = take("^");
    CharSet set;
    while (!take("]")) {
      const char32_t low = character();
      if (peek() != '-' || text_.substr(at_).starts_with("-]")) {
        set.add(low);
        continue;
      }
      ++at_;
      const char32_t high = character();
      if (high < low) fail("a class has a range that is out of order");
      set.add(low, high);
    }
    return negated ? set.complement() : set;
  }

  std::optional<int64_t> count() {
    while (peek() == ' ' || peek() == '\t') ++at_;
    const size_t begin = at_;
    int64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      value = std::min<int64_t>(value * 10 + (peek() - '0'), kMostRepeats + 1);
    }
    if (value > kMostRepeats) fail("a repeat of more than {} times", kMostRepeats);
    while (peek() == ' ' || peek() == '\t') ++at_;
    if (at_ == begin) return {};
    return value;
  }

  std::optional<std::pair<int64_t, int64_t>> repeat() {
    if (take("*")) return std::pair<int64_t, int64_t>{0, kUnlimited};
    if (take("+")) return std::pair<int64_t, int64_t>{1, kUnlimited};
    if (take("?")) return std::pair<int64_t, int64_t>{0, 1};
    if (!take("{")) return {};
    const auto low = count();
    const bool list = take(",");
    const auto high = list ? count() : low;
    if ((!low && !high) || !take("}")) fail("a repeat in braces is malformed");
    if (high && *high < low.value_or(0)) fail("a repeat in braces is out of order");
    return std::pair<int64_t, int64_t>{low.value_or(0), high.value_or(kUnlimited)};
  }

  std::string_view text_;
  Syntax& syntax_;
  size_t at_ = 0;
  std::unordered_map<std::string, RuleNumber, SeededHash> numbers_;
  std::vector<bool> defined_;
};

}  // namespace

RuleNumber read_gbnf(std::string_view text, Syntax& syntax) {
  return GbnfReader(text, syntax).read();
}

}  // namespace longhaul::grammar
