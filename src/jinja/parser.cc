#include "jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "jinja/expression_parser.h"
#include "text/printable.h"

namespace longhaul::jinja {
namespace {

using Step = Statement::Kind;

class StatementParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Body run() {
    Body body;
    while (token().kind != TokenKind::end) body.push_back(piece());
    return body;
  }

 private:
  /// Parses statements up to a tag that begins with one of `ends`, whose name is consumed and
  /// stored in `found`, if given.
  Body body_until(std::initializer_list<std::string_view> ends, std::string* found = nullptr) {
    const Deeper deeper(*this);
    Body body;
    for (;;) {
      if (token().kind == TokenKind::end) {
        fail(fmt::format("'{}' is missing", *(ends.end() - 1)));
      }
      const bool tag = token().kind == TokenKind::block_begin;
      if (tag && std::find(ends.begin(), ends.end(), next_token().text) != ends.end()) {
        take();
        const std::string name = take().text;
        if (found != nullptr) *found = name;
        return body;
      }
      body.push_back(piece());
    }
  }

  void end_of_tag() { expect(TokenKind::block_end); }

  /// The body of a block and its closing tag.
  Body block(std::string_view end) {
    end_of_tag();
    Body body = body_until({end});
    end_of_tag();
    return body;
  }

  /// The body after `else`, if that is the consumed tag; otherwise only the end of the tag.
  Body otherwise(std::string_view taken, std::string_view end) {
    if (taken == "else") return block(end);
    end_of_tag();
    return {};
  }

  Statement piece() {
    Statement statement;
    statement.line = token().line;
    if (token().kind == TokenKind::data) {
      statement.kind = Step::text;
      statement.text = take().text;
      return statement;
    }
    if (token().kind == TokenKind::variable_begin) {
      take();
      statement.kind = Step::output;
      statement.value = tuple();
      expect(TokenKind::variable_end);
      return statement;
    }
    expect(TokenKind::block_begin);
    const int line = token().line;
    const std::string tag = expect_any_name();
    statement = tagged(tag);
    statement.line = line;
    return statement;
  }

  Statement tagged(const std::string& tag) {
    if (tag == "if") return if_block();
    if (tag == "for") return for_loop();
    if (tag == "set") return set();
    if (tag == "macro") return macro();
    if (tag == "call") return call_block();
    if (tag == "filter") return filter_block();
    if (tag == "with") return with_block();
    if (tag == "generation") {
      Statement statement;
      statement.kind = Step::scope;
      statement.body = block("endgeneration");
      return statement;
    }
    if (tag == "break" || tag == "continue") return loop_control(tag);
    for (const char* other : {"include", "import", "from", "extends", "block", "autoescape"}) {
      if (tag == other) fail(fmt::format("'{}' is not supported in chat templates", tag));
    }
    fail(fmt::format("unknown tag {}", printable(tag)));
  }

  Statement if_block() {
    Statement statement;
    statement.kind = Step::if_block;
    std::string end = "elif";
    while (end == "elif") {
      Statement::Branch branch;
      branch.condition = tuple(false);
      end_of_tag();
      branch.body = body_until({"elif", "else", "endif"}, &end);
      statement.branches.push_back(std::move(branch));
    }
    statement.other = otherwise(end, "endif");
    return statement;
  }

  Statement for_loop() {
    Statement statement;
    statement.kind = Step::for_loop;
    statement.target = target(false);
    expect_name("in");
    statement.value = tuple(false);
    if (skip_name("if")) statement.condition = expression();
    statement.recursive = skip_name("recursive");
    end_of_tag();
    std::string end;
    ++loops_;
    statement.body = body_until({"else", "endfor"}, &end);
    --loops_;
    statement.other = otherwise(end, "endfor");
    return statement;
  }

  Statement set() {
    Statement statement;
    statement.target = target(true);
    if (skip_symbol("=")) {
      statement.kind = Step::set;
      statement.value = tuple();
      end_of_tag();
      return statement;
    }
    statement.kind = Step::set_block;
    statement.value = filters(nullptr, false);
    statement.body = block("endset");
    return statement;
  }

  Signature signature() {
    Signature found;
    expect_symbol("(");
    while (!is_symbol(")")) {
      if (!found.names.empty()) expect_symbol(",");
      found.names.push_back(expect_any_name());
      if (skip_symbol("=")) {
        found.defaults.push_back(expression());
      } else if (!found.defaults.empty()) {
        fail("a parameter without a default follows one with a default");
      }
    }
    take();
    return found;
  }

  /// Macro body: break/continue must not see the enclosing loops.
  Body own_body(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = block(end);
    loops_ = loops;
    return body;
  }

  Statement macro() {
    Statement statement;
    statement.kind = Step::macro;
    statement.text = expect_any_name();
    statement.signature = signature();
    statement.body = own_body("endmacro");
    return statement;
  }

  Statement call_block() {
    Statement statement;
    statement.kind = Step::call_block;
    if (is_symbol("(")) statement.signature = signature();
    statement.value = expression();
    if (statement.value->kind != Expression::Kind::call) fail("'call' needs a call");
    statement.body = own_body("endcall");
    return statement;
  }

  Statement filter_block() {
    Statement statement;
    statement.kind = Step::filter_block;
    statement.value = filters(nullptr, true);
    statement.body = block("endfilter");
    return statement;
  }

  Statement with_block() {
    Statement statement;
    statement.kind = Step::with_block;
    while (token().kind != TokenKind::block_end) {
      if (!statement.expressions.empty()) expect_symbol(",");
      statement.expressions.push_back(target(false));
      expect_symbol("=");
      statement.expressions.push_back(expression());
    }
    statement.body = block("endwith");
    return statement;
  }

  Statement loop_control(const std::string& tag) {
    if (loops_ == 0) fail(fmt::format("'{}' outside of a loop", tag));
    Statement statement;
    statement.kind = tag == "break" ? Step::break_loop : Step::continue_loop;
    end_of_tag();
    return statement;
  }

  int loops_ = 0;  // number of enclosing loops
};

}  // namespace

Body parse_template(std::string_view source) { return StatementParser(tokens_of(source)).run(); }

}  // namespace longhaul::jinja
