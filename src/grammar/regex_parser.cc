#include <optional>

#include "base/error.h"
#include "grammar/regex_escapes.h"
#include "grammar/regex_tree.h"
#include "text/printable.h"

namespace longhaul::grammar {
namespace {

constexpr int kDeepestGroup = 100;
constexpr int64_t kMostTimes = 1'000'000;

class RegexParser {
 public:
  explicit RegexParser(std::string_view pattern) : pattern_(pattern) {}

  RegexTree parse() {
    RegexTree tree = choice(0);
    if (at_ < pattern_.size()) user_error("a pattern has an unmatched ) at byte {}", at_);
    return tree;
  }

 private:
  bool ended() const { return at_ >= pattern_.size(); }
  bool take(char c) {
    if (ended() || pattern_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  RegexTree choice(int depth) {
    if (depth > kDeepestGroup) {
      user_error("the groups of a pattern nest deeper than {}", kDeepestGroup);
    }
    RegexTree tree{.kind = RegexKind::kChoice};
    do {
      tree.parts.push_back(sequence(depth));
    } while (take('|'));
    return tree.parts.size() == 1 ? std::move(tree.parts[0]) : tree;
  }

  RegexTree sequence(int depth) {
    RegexTree tree{.kind = RegexKind::kSequence};
    while (!ended() && pattern_[at_] != '|' && pattern_[at_] != ')') {
      RegexTree part = atom(depth);
      while (const auto times = repeat()) {
        if (part.kind == RegexKind::kBegin || part.kind == RegexKind::kEnd) {
          user_error("a pattern repeats ^ or $");
        }
        RegexTree repeated{.kind = RegexKind::kRepeat, .low = times->first, .high = times->second};
        repeated.parts.push_back(std::move(part));
        part = std::move(repeated);
      }
      tree.parts.push_back(std::move(part));
    }
    return tree.parts.size() == 1 ? std::move(tree.parts[0]) : tree;
  }

  RegexTree atom(int depth) {
    const char c = pattern_[at_];
    switch (c) {
      case '(': {
        ++at_;
        open_group();
        RegexTree tree = choice(depth + 1);
        if (!take(')')) user_error("a pattern has a group without )");
        return tree;
      }
      case '[':
        ++at_;
        return {.kind = RegexKind::kChars, .chars = char_class()};
      case '.':
        ++at_;
        return {.kind = RegexKind::kChars,
                .chars = CharSet{{'\n', '\n'}, {'\r', '\r'}}.complement()};
      case '^':
        ++at_;
        return {.kind = RegexKind::kBegin};
      case '$':
        ++at_;
        return {.kind = RegexKind::kEnd};
      case '*':
      case '+':
      case '?':
        user_error("a pattern has {} without anything to repeat at byte {}", c, at_);
      case '\\':
        ++at_;
        return {.kind = RegexKind::kChars, .chars = read_regex_escape(pattern_, at_, false)};
      default: {
        const char32_t character = read_character(pattern_, at_);
        return {.kind = RegexKind::kChars, .chars = {{character, character}}};
      }
    }
  }

  void open_group() {
    if (!take('?')) return;
    if (take(':')) return;
    if (take("<=") || take("<!") || take('=') || take('!')) {
      user_error("lookahead and lookbehind are not supported in a pattern");
    }
    if (take("P<") || take('<')) {  // a name
      const size_t close = pattern_.find('>', at_);
      if (close == std::string_view::npos) user_error("the name of a group has no >");
      at_ = close + 1;
      return;
    }
    user_error("flags and other groups that begin with (? are not supported in a pattern");
  }

  CharSet char_class() {
    const bool negated = take('^');
    CharSet set;
    bool first = true;
    for (;; first = false) {
      if (ended()) user_error("a pattern has a class without ]");
      if (take(']') && !first) break;
      if (first && at_ > 0 && pattern_[at_ - 1] == ']') break;  // [] is empty, [^] is everything
      const CharSet low = class_member();
      if (!pattern_.substr(at_).starts_with('-') || pattern_.substr(at_).starts_with("-]")) {
        set.add(low);
        continue;
      }
      ++at_;
      if (ended()) user_error("a pattern has a class without ]");
      const CharSet high = class_member();
      const auto single = [](const CharSet& s) {
        return s.ranges().size() == 1 && s.ranges()[0].low == s.ranges()[0].high;
      };
      if (!single(low) || !single(high) || low.ranges()[0].low > high.ranges()[0].low) {
        user_error("a class of a pattern has a range that is out of order before byte {}", at_);
      }
      set.add(low.ranges()[0].low, high.ranges()[0].low);
    }
    return negated ? set.complement() : set;
  }

  CharSet class_member() {
    if (take('\\')) return read_regex_escape(pattern_, at_, true);
    const char32_t c = read_character(pattern_, at_);
    return {{c, c}};
  }

  std::optional<int64_t> number() {
    const size_t begin = at_;
    int64_t value = 0;
    while (!ended() && pattern_[at_] >= '0' && pattern_[at_] <= '9') {
      value = std::min<int64_t>(value * 10 + (pattern_[at_++] - '0'), kMostTimes + 1);
    }
    if (at_ == begin) return {};
    if (value > kMostTimes) user_error("a pattern repeats more than {} times", kMostTimes);
    return value;
  }

  std::optional<std::pair<int64_t, int64_t>> repeat() {
    std::optional<std::pair<int64_t, int64_t>> times;
    if (take('*')) {
      times = {0, kUnlimited};
    } else if (take('+')) {
      times = {1, kUnlimited};
    } else if (take('?')) {
      times = {0, 1};
    } else if (!ended() && pattern_[at_] == '{') {
      const size_t begin = at_++;
      const auto low = number();
      const bool list = take(',');
      const auto high = list ? number() : low;
      if ((!low && !high) || !take('}'))
        user_error("a pattern has a {{ without a count at byte {}", begin);
      times = {low.value_or(0), high ? *high : kUnlimited};
      if (high && *high < times->first)
        user_error("a pattern repeats {{{},{}}} times", *low, *high);
    }
    if (times) take('?');  // which match is preferred does not change whether a text matches
    return times;
  }

  std::string_view pattern_;
  size_t at_ = 0;
};

bool has_anchor(const RegexTree& tree) {
  if (tree.kind == RegexKind::kBegin || tree.kind == RegexKind::kEnd) return true;
  for (const RegexTree& part : tree.parts) {
    if (has_anchor(part)) return true;
  }
  return false;
}

}  // namespace

RegexTree parse_regex(std::string_view pattern) { return RegexParser(pattern).parse(); }

RegexTree without_anchors(RegexTree tree, RegexSpan span, const RegexTree& any) {
  if (tree.kind == RegexKind::kChoice) {
    for (RegexTree& part : tree.parts) part = without_anchors(std::move(part), span, any);
    return tree;
  }
  if (tree.kind != RegexKind::kSequence) {
    RegexTree sequence{.kind = RegexKind::kSequence};
    sequence.parts.push_back(std::move(tree));
    tree = std::move(sequence);
  }
  std::vector<RegexTree>& parts = tree.parts;
  bool begins = span == RegexSpan::kWhole, ends = begins;
  while (!parts.empty() && parts.front().kind == RegexKind::kBegin) {
    parts.erase(parts.begin());
    begins = true;
  }
  while (!parts.empty() && parts.back().kind == RegexKind::kEnd) {
    parts.pop_back();
    ends = true;
  }
  for (const RegexTree& part : parts) {
    if (has_anchor(part)) user_error("^ and $ are supported only at the ends of a pattern");
  }
  if (!begins) parts.insert(parts.begin(), any);
  if (!ends) parts.push_back(any);
  return tree;
}

Expression regex_expression(const RegexTree& tree, Syntax& syntax,
                            const std::function<Expression(const CharSet&)>& encode) {
  std::vector<Expression> parts;
  for (const RegexTree& part : tree.parts) parts.push_back(regex_expression(part, syntax, encode));
  switch (tree.kind) {
    case RegexKind::kChars:
      return encode(tree.chars);
    case RegexKind::kSequence:
      return syntax.sequence(parts);
    case RegexKind::kChoice:
      return syntax.choice(parts);
    case RegexKind::kRepeat:
      return syntax.repeat(parts[0], tree.low, tree.high);
    case RegexKind::kEmpty:
    case RegexKind::kBegin:
    case RegexKind::kEnd:
      break;
  }
  return syntax.empty();
}

}  // namespace longhaul::grammar
