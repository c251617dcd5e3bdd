#pragma once
// Creates expressions (grammar/syntax.h) for JSON texts.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "grammar/regex_tree.h"
#include "grammar/syntax.h"

namespace longhaul::grammar {

struct JsonMember {
  std::string name;
  Expression value;
  bool required = false;
};

class JsonRules {
 public:
  explicit JsonRules(Syntax& syntax) : syntax_(syntax) {}
  Syntax& syntax() { return syntax_; }

  /// Returns an expression for the white space between the tokens of objects and arrays: nothing,
  /// one or two spaces, or a newline with at most 40 spaces or tabs. Without this limit, a reply
  /// could consist of endless spaces.
  Expression blank();
  Expression any_value();
  Expression any_string() { return syntax_.call(string_rule()); }
  Expression string_of_length(int64_t low, int64_t high);
  /// Returns an expression for strings whose value matches `tree` and has at least `low` and at
  /// most `high` characters.
  Expression string_like(const RegexTree& tree, int64_t low = 0, int64_t high = kUnlimited);
  /// Returns an expression for exactly this value, written without white space.
  Expression exactly(const nlohmann::ordered_json& value);

  /// Returns an expression for objects with `members` in this order, followed by any number of
  /// other members. `key` matches the names of other members; by default, these are all names that
  /// are not in `members`. `further` matches their values. If `further` is nothing(), no other
  /// members are allowed.
  Expression object(const std::vector<JsonMember>& members, Expression further,
                    std::optional<Expression> key = {});
  /// Returns an expression for arrays. `first` matches the first items, and `further` matches all
  /// other items. The array has at least `low` and at most `high` items.
  Expression array(const std::vector<Expression>& first, Expression further, int64_t low,
                   int64_t high);

 private:
  RuleNumber string_rule();
  Expression escape();       ///< an escape that represents one character
  Expression string_char();  ///< one character of a string, written in any way
  /// Returns an expression for one character of a set, written in the shortest way.
  Expression plain_chars(const CharSet& set);
  Expression other_key(const std::vector<JsonMember>& members);
  Expression other_key_after(const std::vector<std::u32string>& names, size_t begin, size_t end,
                             size_t depth);
  Expression rest_of_string();

  Syntax& syntax_;
  std::optional<RuleNumber> blank_, string_, char_, value_, rest_;
};

/// Returns a RegexTree that matches any text.
RegexTree any_characters();

}  // namespace longhaul::grammar
