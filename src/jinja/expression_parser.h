#pragma once
// Parses the tokens of a template to expressions. The parser of statements (parser.cc) is derived
// from this class.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/ast.h"
#include "jinja/lexer.h"

namespace longhaul::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  static constexpr int kDeepest = 100;  ///< limit of nested brackets or blocks
  static constexpr int kHighest = 400;  ///< limit of the height of an expression's tree

  const Token& token() const { return tokens_[at_]; }
  const Token& next_token() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take();
  bool is_symbol(std::string_view text) const;
  bool is_name(std::string_view text) const;
  bool skip_symbol(std::string_view text);
  bool skip_name(std::string_view text);
  void expect_symbol(std::string_view text);
  void expect_name(std::string_view text);
  std::string expect_any_name();
  void expect(TokenKind kind);
  [[noreturn]] void fail(std::string message) const;
  [[noreturn]] void unexpected() const;

  ExpressionPtr make(Expression::Kind kind, int line, std::vector<ExpressionPtr> parts = {}) const;
  ExpressionPtr expression(bool with_condition = true);
  /// Parses one expression, or several that are separated by commas.
  ExpressionPtr tuple(bool with_condition = true, bool may_be_empty = false);
  /// Parses the target of an assignment: a name or a tuple of names. If `with_namespace` is true,
  /// it may also be `name.attribute`.
  ExpressionPtr target(bool with_namespace);
  /// Parses filters such as `| trim | upper` that follow `subject`. In filter blocks, `subject` is
  /// null and `inside` is true, and no | precedes the first filter.
  ExpressionPtr filters(ExpressionPtr subject, bool inside);

  /// Counts one level of nesting as long as the object exists.
  class Deeper {
   public:
    explicit Deeper(ExpressionParser& parser);
    ~Deeper() { --parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    ExpressionParser& parser_;
  };

 private:
  ExpressionPtr logical_or();
  ExpressionPtr logical_and();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters);
  ExpressionPtr primary();
  ExpressionPtr single_target(bool with_namespace);
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr node);
  ExpressionPtr subscript(ExpressionPtr node);
  ExpressionPtr subscribed();
  ExpressionPtr filters_and_tests(ExpressionPtr node);
  ExpressionPtr test(ExpressionPtr subject);
  ExpressionPtr call(ExpressionPtr callee);
  CallArguments call_arguments();
  ExpressionPtr binary(const Token& op, ExpressionPtr left, ExpressionPtr right) const;
  bool tuple_ends() const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace longhaul::jinja
