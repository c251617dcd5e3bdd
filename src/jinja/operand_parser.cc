// Parses operands: literals, names, subscripts, calls, filters and tests.

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "jinja/expression_parser.h"
#include "jinja/node_parts.h"

namespace longhaul::jinja {

using Node = Expression::Kind;

ExpressionPtr ExpressionParser::primary() {
  const int line = token().line;
  const auto constant = [&](Value value) {
    ExpressionPtr node = make(Node::constant, line);
    node->value = std::move(value);
    return node;
  };
  if (is_symbol("(")) {
    take();
    ExpressionPtr node = tuple(true, true);
    expect_symbol(")");
    return node;
  }
  if (is_symbol("[")) return list();
  if (is_symbol("{")) return dict();
  switch (token().kind) {
    case TokenKind::name: {
      const std::string name = take().text;
      if (name == "true" || name == "True") return constant(Value(true));
      if (name == "false" || name == "False") return constant(Value(false));
      if (name == "none" || name == "None") return constant(Value::none());
      ExpressionPtr node = make(Node::name, line);
      node->text = name;
      return node;
    }
    case TokenKind::string: {
      std::string text = take().text;
      while (token().kind == TokenKind::string) text += take().text;
      return constant(Value::text(text));
    }
    case TokenKind::integer: {
      int64_t number = 0;
      const std::string& digits = token().text;
      if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc()) {
        fail("a number is out of range");
      }
      take();
      return constant(Value(number));
    }
    case TokenKind::real: {
      double number = 0;
      const std::string& digits = token().text;
      if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc()) {
        fail("a number is out of range");
      }
      take();
      return constant(Value(number));
    }
    default:
      unexpected();
  }
}

ExpressionPtr ExpressionParser::list() {
  const int line = take().line;
  std::vector<ExpressionPtr> items;
  while (!is_symbol("]")) {
    if (!items.empty()) expect_symbol(",");
    if (is_symbol("]")) break;
    items.push_back(expression());
  }
  take();
  return make(Node::list, line, std::move(items));
}

ExpressionPtr ExpressionParser::dict() {
  const int line = take().line;
  std::vector<ExpressionPtr> items;
  while (!is_symbol("}")) {
    if (!items.empty()) expect_symbol(",");
    if (is_symbol("}")) break;
    items.push_back(expression());
    expect_symbol(":");
    items.push_back(expression());
  }
  take();
  return make(Node::dict, line, std::move(items));
}

bool ExpressionParser::tuple_ends() const {
  return token().kind == TokenKind::variable_end || token().kind == TokenKind::block_end ||
         is_symbol(")") || is_symbol("=") || is_name("in") || is_name("recursive");
}

ExpressionPtr ExpressionParser::tuple(bool with_condition, bool may_be_empty) {
  const int line = token().line;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (!tuple_ends()) {
    items.push_back(expression(with_condition));
    if (!skip_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && items.size() == 1) return std::move(items[0]);
  if (items.empty() && !may_be_empty) unexpected();
  return make(Node::tuple, line, std::move(items));
}

ExpressionPtr ExpressionParser::single_target(bool with_namespace) {
  const Deeper deeper(*this);
  const int line = token().line;
  if (skip_symbol("(")) {
    ExpressionPtr node = target(with_namespace);
    expect_symbol(")");
    return node;
  }
  ExpressionPtr node = make(Node::name, line);
  node->text = expect_any_name();
  for (const char* constant : {"true", "True", "false", "False", "none", "None"}) {
    if (node->text == constant) fail(fmt::format("can't assign to {}", constant));
  }
  if (with_namespace && skip_symbol(".")) {
    node->kind = Node::namespace_attribute;
    node->more_text = expect_any_name();
  }
  return node;
}

ExpressionPtr ExpressionParser::target(bool with_namespace) {
  const int line = token().line;
  std::vector<ExpressionPtr> names = parts_of(single_target(with_namespace));
  bool is_tuple = false;
  while (skip_symbol(",")) {
    is_tuple = true;
    if (tuple_ends()) break;
    names.push_back(single_target(with_namespace));
  }
  return is_tuple ? make(Node::tuple, line, std::move(names)) : std::move(names[0]);
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr node) {
  for (;;) {
    if (is_symbol(".") || is_symbol("[")) {
      node = subscript(std::move(node));
    } else if (is_symbol("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr node) {
  const int line = token().line;
  if (skip_symbol(".")) {
    if (token().kind == TokenKind::integer) {
      return make(Node::item, line, parts_of(std::move(node), primary()));
    }
    ExpressionPtr attribute = make(Node::attribute, line, parts_of(std::move(node)));
    attribute->text = expect_any_name();
    return attribute;
  }
  expect_symbol("[");
  std::vector<ExpressionPtr> items = parts_of(subscribed());
  while (skip_symbol(",")) items.push_back(subscribed());
  expect_symbol("]");
  ExpressionPtr index =
      items.size() == 1 ? std::move(items[0]) : make(Node::tuple, line, std::move(items));
  return make(Node::item, line, parts_of(std::move(node), std::move(index)));
}

ExpressionPtr ExpressionParser::subscribed() {
  const int line = token().line;
  std::vector<ExpressionPtr> parts(3);
  if (!is_symbol(":")) {
    ExpressionPtr node = expression();
    if (!is_symbol(":")) return node;
    parts[0] = std::move(node);
  }
  take();
  const auto ends = [&] { return is_symbol("]") || is_symbol(","); };
  if (!ends() && !is_symbol(":")) parts[1] = expression();
  if (skip_symbol(":") && !ends()) parts[2] = expression();
  return make(Node::slice, line, std::move(parts));
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr node) {
  for (;;) {
    if (is_symbol("|")) {
      node = filters(std::move(node), false);
    } else if (is_name("is")) {
      node = test(std::move(node));
    } else if (is_symbol("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr subject, bool inside) {
  while (inside || skip_symbol("|")) {
    inside = false;
    const int line = token().line;
    std::string name = expect_any_name();
    while (skip_symbol(".")) (name += ".") += expect_any_name();
    CallArguments arguments = is_symbol("(") ? call_arguments() : CallArguments{};
    const int height = 1 + height_of(arguments);
    subject = make(Node::filter, line, parts_of(std::move(subject)));
    subject->height = std::max(subject->height, height);
    subject->text = std::move(name);
    subject->arguments = std::move(arguments);
  }
  return subject;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr subject) {
  const int line = take().line;
  const bool negated = skip_name("not");
  std::string name = expect_any_name();
  while (skip_symbol(".")) (name += ".") += expect_any_name();
  CallArguments arguments;
  const TokenKind kind = token().kind;
  const bool operand =
      kind == TokenKind::string || kind == TokenKind::integer || kind == TokenKind::real ||
      is_symbol("[") || is_symbol("{") ||
      (kind == TokenKind::name && !is_name("else") && !is_name("or") && !is_name("and"));
  if (is_symbol("(")) {
    arguments = call_arguments();
  } else if (operand) {
    if (is_name("is")) fail("tests cannot be chained with 'is'");
    arguments.positional.push_back(postfix(primary()));
  }
  const int height = 1 + height_of(arguments);
  ExpressionPtr node = make(Node::test, line, parts_of(std::move(subject)));
  node->height = std::max(node->height, height);
  node->text = std::move(name);
  node->arguments = std::move(arguments);
  if (!negated) return node;
  node = make(Node::unary, line, parts_of(std::move(node)));
  node->text = "not";
  return node;
}

ExpressionPtr ExpressionParser::call(ExpressionPtr callee) {
  const int line = token().line;
  CallArguments arguments = call_arguments();
  const int height = 1 + height_of(arguments);
  ExpressionPtr node = make(Node::call, line, parts_of(std::move(callee)));
  node->height = std::max(node->height, height);
  node->arguments = std::move(arguments);
  return node;
}

CallArguments ExpressionParser::call_arguments() {
  expect_symbol("(");
  CallArguments found;
  bool first = true;
  const auto check = [&](bool right) {
    if (!right) fail("arguments of a call in the wrong order");
  };
  while (!is_symbol(")")) {
    if (!first) expect_symbol(",");
    if (is_symbol(")")) break;
    first = false;
    if (skip_symbol("*")) {
      check(!found.more && !found.more_named);
      found.more = expression();
    } else if (skip_symbol("**")) {
      check(!found.more_named);
      found.more_named = expression();
    } else if (token().kind == TokenKind::name && next_token().kind == TokenKind::symbol &&
               next_token().text == "=") {
      check(!found.more_named);
      std::string name = take().text;
      take();
      found.named.emplace_back(std::move(name), expression());
    } else {
      check(!found.more && !found.more_named && found.named.empty());
      found.positional.push_back(expression());
    }
  }
  take();
  return found;
}

}  // namespace longhaul::jinja
