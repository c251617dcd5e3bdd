#pragma once
// Defines Syntax, the common form to which JSON Schemas, GBNF and regular expressions are
// converted. It consists of rules. The body of a rule is an expression, a tree of nodes that
// matches sequences of bytes.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/char_set.h"

namespace longhaul::grammar {

using Expression = uint32_t;  ///< index of a node (Syntax::node())
using RuleNumber = uint32_t;

constexpr int64_t kUnlimited = -1;

enum class NodeKind : uint8_t {
  kNothing,   ///< matches no text
  kEmpty,     ///< matches the empty text
  kBytes,     ///< one byte of a range
  kText,      ///< the bytes of `text`
  kSequence,  ///< all children in order
  kChoice,    ///< one of the children
  kRepeat,    ///< the only child, at least `low` and at most `high` times
  kCall,      ///< a call of a rule
};

struct Node {
  NodeKind kind = NodeKind::kEmpty;
  /// For kBytes: the least and greatest byte. For kRepeat: the least and greatest number of
  /// repetitions (`high` may be kUnlimited). For kCall: `low` is the number of the called rule.
  int64_t low = 0, high = 0;
  uint32_t first = 0, count = 0;  ///< range of its children; Syntax::children() returns them
  std::string text = {};
};

class Syntax {
 public:
  Syntax();

  Expression nothing() const { return 0; }
  Expression empty() const { return 1; }
  Expression bytes(uint8_t low, uint8_t high);
  Expression text(std::string_view bytes);
  Expression sequence(std::span<const Expression> parts);
  Expression sequence(std::initializer_list<Expression> parts) {
    return sequence(std::span(parts.begin(), parts.size()));
  }
  Expression choice(std::span<const Expression> parts);
  Expression choice(std::initializer_list<Expression> parts) {
    return choice(std::span(parts.begin(), parts.size()));
  }
  Expression optional(Expression e) { return choice({empty(), e}); }
  Expression repeat(Expression e, int64_t low, int64_t high);
  Expression call(RuleNumber rule);
  /// Returns an expression for one character of a set, in UTF-8.
  Expression chars(const CharSet& set);

  RuleNumber add_rule(std::string name);
  void define(RuleNumber rule, Expression body) { rules_[rule].body = body; }
  /// Adds a rule with this body and returns its number.
  RuleNumber rule_of(std::string name, Expression body);
  void share(RuleNumber rule) { rules_[rule].shared = true; }

  struct Rule {
    std::string name;
    Expression body = 0;
    /// Whether the rule is compiled only once. Otherwise, a small rule may be inserted wherever it
    /// is called (emit_rules()).
    bool shared = false;
  };
  const std::vector<Rule>& rules() const { return rules_; }
  const Node& node(Expression e) const { return nodes_[e]; }
  std::span<const Expression> children(const Node& node) const {
    return std::span(children_).subspan(node.first, node.count);
  }

 private:
  Expression add(Node node, std::span<const Expression> parts = {});

  std::vector<Node> nodes_;
  std::vector<Expression> children_;
  std::vector<Rule> rules_;
};

}  // namespace longhaul::grammar
