#pragma once
// Expressions for JSON texts.

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

  /// Between the parts of objects and arrays: nothing, one or two spaces, or a new line with at
  /// most 40 spaces or tabs. An unlimited space would let a reply consist of spaces.
  Expression blank();
  Expression any_value();
  Expression any_string() { return syntax_.call(string_rule()); }
  Expression string_of_length(int64_t low, int64_t high);
  /// A string whose value the tree describes, with at least `low` and at most `high` characters.
  Expression string_like(const RegexTree& tree, int64_t low = 0, int64_t high = kUnlimited);
  /// Exactly this value, without blanks.
  Expression exactly(const nlohmann::ordered_json& value);

  /// An object with these members in this order. `further`: the value of other members; nothing if
  /// there are none. `key`: their names; by default all names that `members` does not have.
  Expression object(const std::vector<JsonMember>& members, Expression further,
                    std::optional<Expression> key = {});
  /// `first` are the first items, `further` is the value of others.
  Expression array(const std::vector<Expression>& first, Expression further, int64_t low,
                   int64_t high);

 private:
  RuleNumber string_rule();
  Expression escape();                         ///< an escape that stands for one character
  Expression string_char();                    ///< one character of a string, in every spelling
  Expression plain_chars(const CharSet& set);  ///< one character of a set, in its shortest spelling
  Expression other_key(const std::vector<JsonMember>& members);
  Expression other_key_after(const std::vector<std::u32string>& names, size_t begin, size_t end,
                             size_t depth);
  Expression rest_of_string();

  Syntax& syntax_;
  std::optional<RuleNumber> blank_, string_, char_, value_, rest_;
};

/// Any characters.
RegexTree any_characters();

}  // namespace longhaul::grammar
