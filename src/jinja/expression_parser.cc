// Tokens and operators; operand_parser.cc parses operands.

#include "jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "jinja/node_parts.h"
#include "text/printable.h"

namespace longhaul::jinja {

using Node = Expression::Kind;

ExpressionParser::Deeper::Deeper(ExpressionParser& parser) : parser_(parser) {
  if (parser.depth_ >= kDeepest) parser.fail(fmt::format("nested deeper than {}", kDeepest));
  ++parser.depth_;
}

Token ExpressionParser::take() {
  Token taken = token();
  if (at_ + 1 < tokens_.size()) ++at_;
  return taken;
}

bool ExpressionParser::is_symbol(std::string_view text) const {
  return token().kind == TokenKind::symbol && token().text == text;
}
bool ExpressionParser::is_name(std::string_view text) const {
  return token().kind == TokenKind::name && token().text == text;
}
bool ExpressionParser::skip_symbol(std::string_view text) {
  const bool found = is_symbol(text);
  if (found) take();
  return found;
}
bool ExpressionParser::skip_name(std::string_view text) {
  const bool found = is_name(text);
  if (found) take();
  return found;
}
void ExpressionParser::expect_symbol(std::string_view text) {
  if (!skip_symbol(text)) unexpected();
}
void ExpressionParser::expect_name(std::string_view text) {
  if (!skip_name(text)) unexpected();
}
std::string ExpressionParser::expect_any_name() {
  if (token().kind != TokenKind::name) unexpected();
  return take().text;
}
void ExpressionParser::expect(TokenKind kind) {
  if (token().kind != kind) unexpected();
  take();
}

void ExpressionParser::fail(std::string message) const {
  throw SyntaxError{std::move(message), token().line};
}

void ExpressionParser::unexpected() const {
  switch (token().kind) {
    case TokenKind::variable_end:
      fail("unexpected '}}'");
    case TokenKind::block_end:
      fail("unexpected '%}'");
    case TokenKind::end:
      fail("unexpected end of the template");
    default:
      fail(fmt::format("unexpected {}", printable(token().text)));
  }
}

ExpressionPtr ExpressionParser::make(Node kind, int line, std::vector<ExpressionPtr> parts) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  for (const ExpressionPtr& part : parts) {
    node->height = std::max(node->height, 1 + height_of(part));
  }
  if (node->height > kHighest) fail("an expression is too long");
  node->parts = std::move(parts);
  return node;
}

ExpressionPtr ExpressionParser::binary(const Token& op, ExpressionPtr left,
                                       ExpressionPtr right) const {
  ExpressionPtr node = make(Node::binary, op.line, parts_of(std::move(left), std::move(right)));
  node->text = op.text;
  return node;
}

ExpressionPtr ExpressionParser::expression(bool with_condition) {
  const Deeper deeper(*this);
  ExpressionPtr node = logical_or();
  while (with_condition && is_name("if")) {
    const int line = take().line;
    std::vector<ExpressionPtr> parts = parts_of(std::move(node), logical_or());
    parts.push_back(skip_name("else") ? expression() : nullptr);
    node = make(Node::condition, line, std::move(parts));
  }
  return node;
}

ExpressionPtr ExpressionParser::logical_or() {
  ExpressionPtr left = logical_and();
  while (is_name("or")) {
    const int line = take().line;
    left = make(Node::logical_or, line, parts_of(std::move(left), logical_and()));
  }
  return left;
}

ExpressionPtr ExpressionParser::logical_and() {
  ExpressionPtr left = negation();
  while (is_name("and")) {
    const int line = take().line;
    left = make(Node::logical_and, line, parts_of(std::move(left), negation()));
  }
  return left;
}

ExpressionPtr ExpressionParser::negation() {
  if (!is_name("not")) return comparison();
  const Deeper deeper(*this);
  const int line = take().line;
  ExpressionPtr node = make(Node::unary, line, parts_of(negation()));
  node->text = "not";
  return node;
}

ExpressionPtr ExpressionParser::comparison() {
  constexpr std::string_view kOperators[] = {"==", "!=", ">", ">=", "<", "<="};
  const int line = token().line;
  std::vector<ExpressionPtr> parts = parts_of(sum());
  std::vector<std::string> operators;
  for (;;) {
    const bool symbol = token().kind == TokenKind::symbol &&
                        std::find(std::begin(kOperators), std::end(kOperators), token().text) !=
                            std::end(kOperators);
    if (symbol || is_name("in")) {
      operators.push_back(take().text);
    } else if (is_name("not") && next_token().kind == TokenKind::name &&
               next_token().text == "in") {
      take();
      take();
      operators.emplace_back("not in");
    } else {
      break;
    }
    parts.push_back(sum());
  }
  if (operators.empty()) return std::move(parts[0]);
  ExpressionPtr node = make(Node::compare, line, std::move(parts));
  node->operators = std::move(operators);
  return node;
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr left = concatenation();
  while (is_symbol("+") || is_symbol("-")) {
    const Token op = take();
    left = binary(op, std::move(left), concatenation());
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  const int line = token().line;
  std::vector<ExpressionPtr> parts = parts_of(product());
  while (skip_symbol("~")) parts.push_back(product());
  return parts.size() == 1 ? std::move(parts[0]) : make(Node::concatenate, line, std::move(parts));
}

ExpressionPtr ExpressionParser::product() {
  ExpressionPtr left = power();
  while (is_symbol("*") || is_symbol("/") || is_symbol("//") || is_symbol("%")) {
    const Token op = take();
    left = binary(op, std::move(left), power());
  }
  return left;
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = unary(true);
  while (is_symbol("**")) {
    const Token op = take();
    left = binary(op, std::move(left), unary(true));
  }
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const Deeper deeper(*this);
  ExpressionPtr node;
  if (is_symbol("-") || is_symbol("+")) {
    const Token op = take();
    node = make(Node::unary, op.line, parts_of(unary(false)));
    node->text = op.text;
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filters ? filters_and_tests(std::move(node)) : std::move(node);
}

}  // namespace longhaul::jinja
