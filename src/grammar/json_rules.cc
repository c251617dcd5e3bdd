#include "grammar/json_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "grammar/counted_regex.h"
#include "grammar/number_range.h"
#include "grammar/regex_escapes.h"

namespace longhaul::grammar {
namespace {

constexpr size_t kComparedCharacters =
    64;  // a limit for names; other keys do not begin like a longer name

constexpr size_t kInsertedMembers = 32;  // members of larger objects are rules, which exist once

/// Characters that need no escape in strings.
const CharSet& unescaped() {
  static const CharSet set = CharSet{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}.complement();
  return set;
}

std::u32string characters_of(const std::string& text) {
  std::u32string out;
  for (size_t at = 0; at < text.size() && out.size() < kComparedCharacters;) {
    out += read_character(text, at);
  }
  return out;
}

}  // namespace

RegexTree any_characters() {
  RegexTree any{.kind = RegexKind::kRepeat, .low = 0, .high = kUnlimited};
  any.parts.push_back({.kind = RegexKind::kChars, .chars = CharSet::any()});
  return any;
}

Expression JsonRules::blank() {
  if (!blank_) {
    const Expression indent =
        syntax_.repeat(syntax_.choice({syntax_.text(" "), syntax_.text("\t")}), 0, 40);
    blank_ = syntax_.rule_of("blank",
                             syntax_.choice({syntax_.repeat(syntax_.text(" "), 0, 2),
                                             syntax_.sequence({syntax_.optional(syntax_.text("\r")),
                                                               syntax_.text("\n"), indent})}));
    syntax_.share(*blank_);
  }
  return syntax_.call(*blank_);
}

Expression JsonRules::escape() {
  const auto hex = [this](const char* first) {
    std::vector<Expression> parts;
    for (const char* c = first; *c != '\0'; ++c) parts.push_back(syntax_.text({c, 1}));
    return syntax_.choice(parts);
  };
  const Expression any = hex("0123456789abcdefABCDEF");
  const Expression backslash = syntax_.text("\\");
  const Expression d = hex("dD");
  return syntax_.sequence(
      {backslash,
       syntax_.choice(
           {hex("\"\\/bfnrt"),
            syntax_.sequence({syntax_.text("u"), hex("0123456789abcefABCEF"), any, any, any}),
            syntax_.sequence({syntax_.text("u"), d, hex("01234567"), any, any}),
            // A pair of surrogates is one character.
            syntax_.sequence({syntax_.text("u"), d, hex("89abAB"), any, any, syntax_.text("\\u"), d,
                              hex("cdefCDEF"), any, any})})});
}

Expression JsonRules::string_char() {
  if (!char_) {
    char_ = syntax_.rule_of("char", syntax_.choice({syntax_.chars(unescaped()), escape()}));
    syntax_.share(*char_);
  }
  return syntax_.call(*char_);
}

Expression JsonRules::rest_of_string() {
  if (!rest_) {
    const Expression one = syntax_.choice({syntax_.chars(unescaped()), escape()});
    rest_ =
        syntax_.rule_of("rest of string",
                        syntax_.sequence({syntax_.repeat(one, 0, kUnlimited), syntax_.text("\"")}));
    syntax_.share(*rest_);
  }
  return syntax_.call(*rest_);
}

RuleNumber JsonRules::string_rule() {
  if (!string_) {
    string_ = syntax_.rule_of("string", syntax_.sequence({syntax_.text("\""), rest_of_string()}));
    syntax_.share(*string_);
  }
  return *string_;
}

Expression JsonRules::string_of_length(int64_t low, int64_t high) {
  if (low == 0 && high == kUnlimited) return any_string();
  const Expression quote = syntax_.text("\"");
  if (high == kUnlimited) {
    return syntax_.sequence({quote, syntax_.repeat(string_char(), low, low), rest_of_string()});
  }
  return syntax_.sequence({quote, syntax_.repeat(string_char(), low, high), quote});
}

Expression JsonRules::plain_chars(const CharSet& set) {
  std::vector<Expression> parts = {syntax_.chars(set.intersection(unescaped()))};
  for (char32_t c = 0; c <= '\\'; ++c) {
    if (unescaped().contains(c) || !set.contains(c)) continue;
    const std::string one(1, static_cast<char>(c));
    const std::string quoted = nlohmann::json(one).dump();
    parts.push_back(syntax_.text(std::string_view(quoted).substr(1, quoted.size() - 2)));
  }
  return syntax_.choice(parts);
}

Expression JsonRules::string_like(const RegexTree& tree, int64_t low, int64_t high) {
  const Expression quote = syntax_.text("\"");
  const Expression body = counted_expression(
      tree, low, high, syntax_, [this](const CharSet& set) { return plain_chars(set); });
  return syntax_.sequence({quote, body, quote});
}

Expression JsonRules::any_value() {
  if (!value_) {
    value_ = syntax_.add_rule("value");
    syntax_.share(*value_);
    const Expression value = syntax_.call(*value_);
    const Expression number = number_expression({}, syntax_);
    syntax_.define(*value_, syntax_.choice({object({}, value), array({}, value, 0, kUnlimited),
                                            any_string(), number, syntax_.text("true"),
                                            syntax_.text("false"), syntax_.text("null")}));
  }
  return syntax_.call(*value_);
}

Expression JsonRules::exactly(const nlohmann::ordered_json& value) {
  return syntax_.text(value.dump());
}

Expression JsonRules::other_key(const std::vector<JsonMember>& members) {
  if (members.empty()) return any_string();
  std::vector<std::u32string> names;
  for (const JsonMember& member : members) names.push_back(characters_of(member.name));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return syntax_.sequence({syntax_.text("\""), other_key_after(names, 0, names.size(), 0)});
}

/// The rest of a key that so far equals `depth` characters of some names. Its next character has no
/// escape, because an escape could spell a character of a name.
Expression JsonRules::other_key_after(const std::vector<std::u32string>& names, size_t begin,
                                      size_t end, size_t depth) {
  std::vector<Expression> parts;
  CharSet others = unescaped();
  bool is_name = false;
  for (size_t i = begin; i < end;) {
    if (names[i].size() == depth) {
      is_name = true;
      ++i;
      continue;
    }
    const char32_t c = names[i][depth];
    size_t same = i;
    while (same < end && names[same].size() > depth && names[same][depth] == c) ++same;
    others = others.without({{c, c}});
    if (depth + 1 < kComparedCharacters) {
      parts.push_back(
          syntax_.sequence({plain_chars({{c, c}}), other_key_after(names, i, same, depth + 1)}));
    }
    i = same;
  }
  parts.push_back(syntax_.sequence({syntax_.chars(others), rest_of_string()}));
  if (!is_name) parts.push_back(syntax_.text("\""));
  return syntax_.choice(parts);
}

Expression JsonRules::object(const std::vector<JsonMember>& members, Expression further,
                             std::optional<Expression> key) {
  const Expression comma = syntax_.sequence({syntax_.text(","), blank()});
  const Expression colon = syntax_.sequence({syntax_.text(":"), blank()});
  const Expression end = syntax_.sequence({blank(), syntax_.text("}")});
  const bool open = further != syntax_.nothing();
  Expression other = syntax_.nothing();
  if (open) other = syntax_.sequence({key ? *key : other_key(members), colon, further});
  const auto written = [&](const JsonMember& member) {
    const Expression e = syntax_.sequence({exactly(member.name), colon, member.value});
    if (members.size() <= kInsertedMembers) return e;
    const RuleNumber rule = syntax_.rule_of("member", e);
    syntax_.share(rule);
    return syntax_.call(rule);
  };
  std::vector<Expression> all;
  for (const JsonMember& member : members) all.push_back(written(member));
  const Expression others =
      open ? syntax_.repeat(syntax_.sequence({comma, other}), 0, kUnlimited) : syntax_.empty();
  // The rest of an object that has a member already, from each member on.
  std::vector<Expression> rest(members.size() + 1);
  rest.back() = syntax_.call(syntax_.rule_of("members", syntax_.sequence({others, end})));
  for (size_t i = members.size(); i-- > 0;) {
    const Expression next = syntax_.sequence({comma, all[i]});
    rest[i] = syntax_.call(syntax_.rule_of(
        "members",
        syntax_.sequence({members[i].required ? next : syntax_.optional(next), rest[i + 1]})));
  }
  std::vector<Expression> firsts;
  bool required = false;
  for (size_t i = 0; i < members.size() && !required; ++i) {
    firsts.push_back(syntax_.sequence({all[i], rest[i + 1]}));
    required = members[i].required;
  }
  if (!required) {
    firsts.push_back(syntax_.text("}"));
    if (open) firsts.push_back(syntax_.sequence({other, rest.back()}));
  }
  const RuleNumber rule = syntax_.rule_of(
      "object", syntax_.sequence({syntax_.text("{"), blank(), syntax_.choice(firsts)}));
  syntax_.share(rule);
  return syntax_.call(rule);
}

Expression JsonRules::array(const std::vector<Expression>& first, Expression further, int64_t low,
                            int64_t high) {
  const Expression comma = syntax_.sequence({syntax_.text(","), blank()});
  const int64_t listed = std::ssize(first);
  if (high == kUnlimited && further == syntax_.nothing()) high = listed;
  if (high != kUnlimited && low > high) return syntax_.nothing();
  // Items from number `at` on, each with the comma before it unless it is the first.
  const int64_t end = high == kUnlimited ? listed : std::min(listed, high);
  Expression items = syntax_.empty();
  if (high == kUnlimited || high > listed) {
    const int64_t least = std::max<int64_t>(low - listed, 0);
    if (listed > 0) {
      items = syntax_.repeat(syntax_.sequence({comma, further}), least,
                             high == kUnlimited ? kUnlimited : high - listed);
    } else {
      const Expression more =
          syntax_.repeat(syntax_.sequence({comma, further}), std::max<int64_t>(least - 1, 0),
                         high == kUnlimited ? kUnlimited : high - 1);
      items = syntax_.sequence({further, more});
      if (least == 0) items = syntax_.optional(items);
    }
  }
  for (int64_t at = end; at-- > 0;) {
    const Expression item = first[static_cast<size_t>(at)];
    items = syntax_.sequence({at == 0 ? item : syntax_.sequence({comma, item}), items});
    if (at >= low) items = syntax_.optional(items);
  }
  const RuleNumber rule = syntax_.rule_of(
      "array", syntax_.sequence({syntax_.text("["), blank(), items, blank(), syntax_.text("]")}));
  syntax_.share(rule);
  return syntax_.call(rule);
}

}  // namespace longhaul::grammar
