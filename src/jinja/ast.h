#pragma once
// Defines the tree of a parsed template, whose nodes are expressions and statements. The comments
// of the kinds list the members that a node of this kind uses.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace longhaul::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// The argument expressions of a call, filter or test.
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more, more_named;  ///< expressions after * and **, or null
};

struct Expression {
  enum class Kind : uint8_t {
    constant,             ///< value
    name,                 ///< text
    list,                 ///< parts
    tuple,                ///< parts
    dict,                 ///< parts: key, value, key, value, ...
    attribute,            ///< parts[0], text
    namespace_attribute,  ///< in assignments: name `text`, attribute `more_text`
    item,                 ///< parts[0], parts[1]
    slice,        ///< parts[0] to parts[2], which may be null; occurs only as parts[1] of an item
    call,         ///< parts[0], arguments
    filter,       ///< parts[0] (null in a filter block), name in text, arguments
    test,         ///< parts[0], name in text, arguments
    unary,        ///< text: - + not
    binary,       ///< text: + - * / // % **
    concatenate,  ///< parts
    compare,      ///< parts[0], then one part for each of `operators`
    logical_and,  ///< parts[0], parts[1]
    logical_or,   ///< parts[0], parts[1]
    condition,    ///< parts[0] if parts[1], else parts[2] (may be null)
  };
  Kind kind;
  int line = 0;
  int height = 1;  ///< number of levels of the tree below and including this node
  Value value;
  std::string text, more_text;
  std::vector<ExpressionPtr> parts;
  std::vector<std::string> operators;
  CallArguments arguments;
};

struct Statement;
using Body = std::vector<Statement>;

/// The parameters of a macro or of a call block.
struct Signature {
  std::vector<std::string> names;
  std::vector<ExpressionPtr> defaults;  ///< defaults of the last parameters
};

struct Statement {
  enum class Kind : uint8_t {
    text,          ///< text
    output,        ///< value
    if_block,      ///< branches; `other` is the body of else
    for_loop,      ///< target, value, condition, recursive, body; `other` is the body of else
    set,           ///< target, value
    set_block,     ///< target, value (a filter or null), body
    macro,         ///< text, signature, body
    call_block,    ///< value (a call), signature, body
    filter_block,  ///< value (a filter), body
    with_block,    ///< expressions (target, value, target, ...), body
    scope,         ///< body that has its own variables
    break_loop,
    continue_loop,
  };
  struct Branch {
    ExpressionPtr condition;
    Body body;
  };
  Kind kind;
  int line = 0;
  bool recursive = false;
  std::string text;
  ExpressionPtr target, value, condition;
  /// For with_block: assigned names and their values, alternating.
  std::vector<ExpressionPtr> expressions;
  std::vector<Branch> branches;
  Signature signature;
  Body body, other;
};

}  // namespace longhaul::jinja
