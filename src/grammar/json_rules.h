#pragma once
// Creates expressions for JSON texts.

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

  /// Returns the white space between parts of objects and arrays: nothing, one or two spaces, or a
  /// newline with at most 40 spaces or tabs. Without this limit, a reply could consist of spaces.
  Expression blank();
  Expression any_value();
  Expression any_string() { return syntax_.call(string_rule()); }
  Expression string_of_length(int64_t low, int64_t high);
  /// Returns a string whose value matches the tree, with at least `low` and at most `high`
  /// characters.
  Expression string_like(const RegexTree& tree, int64_t low = 0, int64_t high = kUnlimited);
  /// Returns exactly this value, without white space.
  Expression exactly(const nlohmann::ordered_json& value);

  /// Returns an object with these members in this order. `further` is the value of other members;
  /// if it is kNothing, there are none. `key` matches the names of other members; by default, all
  /// names that are not in `members`.
  Expression object(const std::vector<JsonMember>& members, Expression further,
                    std::optional<Expression> key = {});
  /// Returns an array. `first` are its first items, `further` is the value of other items, and
  /// `low` and `high` limit their number.
  Expression array(const std::vector<Expression>& first, Expression further, int64_t low,
                   int64_t high);

 private:
  RuleNumber string_rule();
  Expression escape();       ///< returns an escape that represents one character
  Expression string_char();  ///< returns one character of a string, in any spelling
  /// Returns one character of a set, in its shortest spelling.
  Expression plain_chars(const CharSet& set);
  Expression other_key(const std::vector<JsonMember>& members);
  Expression other_key_after(const std::vector<std::u32string>& names, size_t begin, size_t end,
                             size_t depth);
  Expression rest_of_string();

  Syntax& syntax_;
  std::optional<RuleNumber> blank_, string_, char_, value_, rest_;
};

/// Returns a tree that matches any text.
RegexTree any_characters();

}  // namespace longhaul::grammar
