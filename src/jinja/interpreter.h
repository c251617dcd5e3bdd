#pragma once
// Runs a parsed template.

#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/ast.h"
#include "jinja/budget.h"
#include "jinja/value.h"

namespace longhaul::jinja {

/// The variables of a scope, and a pointer to the enclosing scope.
struct Scope {
  std::shared_ptr<Scope> parent;
  Names<Value> names;

  const Value* find(std::string_view name) const;
};
using ScopePtr = std::shared_ptr<Scope>;

/// Runs a template once. Errors are thrown as Fault; line() then returns the line of the template
/// in which the error is.
class Interpreter {
 public:
  /// `globals` are the variables that the template can use in addition to the built-in functions.
  Interpreter(Budget& budget, const std::map<std::string, Value, std::less<>>& globals);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  String run(const Body& body);
  int line() const { return line_; }

  // The implementations of filters, tests and built-in functions call the following functions.
  Budget& budget() { return budget_; }
  Value call(const Value& callee, const Arguments& arguments);
  Value filter(std::string_view name, const Value& subject, const Arguments& arguments);
  bool test(std::string_view name, const Value& subject, const Arguments& arguments);
  /// attribute() returns `object.name`, and item() returns `object[key]`. The result is an
  /// undefined value if there is no such attribute or item.
  Value attribute(const Value& object, std::string_view name);
  Value item(const Value& object, const Value& key);
  /// Registers an object that may later refer to itself, so that the destructor can break the cycle
  /// (Object::release()).
  Value keep(std::shared_ptr<Object> object);

  // The objects of loops and macros call the following functions.
  String run_body(const Body& body, ScopePtr scope);
  /// Runs the body of a macro or of a call block with its parameters.
  String run_macro(const Signature& signature, const Body& body, const ScopePtr& scope,
                   const Arguments& arguments);
  String run_loop(const Statement& loop, const Value& over, const ScopePtr& scope, int depth);

 private:
  enum class Flow : uint8_t { next, leave_loop, next_round };

  Flow run_statements(const Body& body);
  Flow run_statement(const Statement& statement);
  Flow run_if(const Statement& statement);
  void run_for(const Statement& loop, const Value& over, int depth);
  Values chosen(const Statement& loop, Values items);
  void run_with(const Statement& statement);
  void run_call_block(const Statement& statement);
  Value captured(const Statement& statement);
  Value make_macro(const Statement& statement, std::string_view name);
  void assign(const Expression& target, const Value& value);
  void write(const String& text);

  Value evaluate(const Expression& node);
  Value evaluate_name(const Expression& node) const;
  Values evaluate_all(const std::vector<ExpressionPtr>& nodes);
  Value evaluate_dict(const Expression& node);
  Value evaluate_item(const Expression& node);
  Value evaluate_slice(const Value& object, const Expression& slice);
  Value evaluate_compare(const Expression& node);
  Value evaluate_concatenation(const Expression& node);
  Value evaluate_filter(const Expression& node);
  Arguments evaluate_arguments(const CallArguments& nodes);

  Budget& budget_;
  ScopePtr scope_;
  String* out_ = nullptr;
  /// In a filter block: the text to which the filter is applied.
  const Value* block_text_ = nullptr;
  int line_ = 1;
  Vector<std::weak_ptr<Object>> kept_;
  size_t kept_limit_ = 64;
};

/// Returns a built-in function such as range, or null if there is none of this name.
const Value* find_function(std::string_view name);

}  // namespace longhaul::jinja
