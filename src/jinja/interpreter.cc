// Execution of statements; expressions.cc evaluates expressions.

#include "jinja/interpreter.h"

#include <algorithm>

#include "jinja/objects.h"

namespace longhaul::jinja {

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
    const auto found = scope->names.find(name);
    if (found != scope->names.end()) return &found->second;
  }
  return nullptr;
}

namespace {

ScopePtr inside(const ScopePtr& scope) {
  auto inner = make_counted<Scope>();
  inner->parent = scope;
  return inner;
}

/// Replaces `variable` by `value` during its lifetime.
template <class T>
class Replaced {
 public:
  Replaced(T& variable, T value) : variable_(variable), before_(std::move(variable)) {
    variable_ = std::move(value);
  }
  ~Replaced() { variable_ = std::move(before_); }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace

Interpreter::Interpreter(Budget& budget, const std::map<std::string, Value, std::less<>>& globals)
    : budget_(budget), scope_(make_counted<Scope>()) {
  for (const auto& [name, value] : globals) scope_->names[Text(name)] = value;
}

Interpreter::~Interpreter() {
  for (const std::weak_ptr<Object>& weak : kept_) {
    if (const auto object = weak.lock()) object->release();
  }
}

Value Interpreter::keep(std::shared_ptr<Object> object) {
  if (kept_.size() >= kept_limit_) {
    std::erase_if(kept_, [](const std::weak_ptr<Object>& weak) { return weak.expired(); });
    kept_limit_ = std::max<size_t>(64, 2 * kept_.size());
  }
  kept_.push_back(object);
  return Value(std::move(object));
}

String Interpreter::run(const Body& body) { return run_body(body, inside(scope_)); }

String Interpreter::run_body(const Body& body, ScopePtr scope) {
  String out;
  const Replaced<ScopePtr> in_scope(scope_, std::move(scope));
  const Replaced<String*> to(out_, &out);
  run_statements(body);
  return out;
}

void Interpreter::write(const String& text) {
  budget_.check_length(out_->size() + text.size());
  budget_.spend(text.weight());
  out_->append(text);
}

Interpreter::Flow Interpreter::run_statements(const Body& body) {
  const Budget::Nested nested = budget_.node();
  for (const Statement& statement : body) {
    const Flow flow = run_statement(statement);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::run_statement(const Statement& statement) {
  line_ = statement.line;
  budget_.spend();
  switch (statement.kind) {
    case Statement::Kind::text:
      write(String(statement.text, Origin::kTemplate));
      break;
    case Statement::Kind::output:
      write(to_text(evaluate(*statement.value), budget_));
      break;
    case Statement::Kind::if_block:
      return run_if(statement);
    case Statement::Kind::for_loop:
      run_for(statement, evaluate(*statement.value), 0);
      break;
    case Statement::Kind::set:
      assign(*statement.target, evaluate(*statement.value));
      break;
    case Statement::Kind::set_block:
      assign(*statement.target, captured(statement));
      break;
    case Statement::Kind::macro:
      scope_->names[Text(statement.text)] = make_macro(statement, statement.text);
      break;
    case Statement::Kind::call_block:
      run_call_block(statement);
      break;
    case Statement::Kind::filter_block:
      write(to_text(captured(statement), budget_));
      break;
    case Statement::Kind::with_block:
      run_with(statement);
      break;
    case Statement::Kind::scope:
      write(run_body(statement.body, inside(scope_)));
      break;
    case Statement::Kind::break_loop:
      return Flow::leave_loop;
    case Statement::Kind::continue_loop:
      return Flow::next_round;
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::run_if(const Statement& statement) {
  for (const Statement::Branch& branch : statement.branches) {
    if (evaluate(*branch.condition).truth()) return run_statements(branch.body);
  }
  return run_statements(statement.other);
}

/// The items that satisfy the loop's own condition.
Values Interpreter::chosen(const Statement& loop, Values items) {
  if (!loop.condition) return items;
  Values left;
  for (Value& item : items) {
    const Replaced<ScopePtr> in_scope(scope_, inside(scope_));
    assign(*loop.target, item);
    if (evaluate(*loop.condition).truth()) left.push_back(std::move(item));
  }
  return left;
}

void Interpreter::run_for(const Statement& statement, const Value& over, int depth) {
  Values items = chosen(statement, items_of(over, budget_));
  if (items.empty()) {
    const Replaced<ScopePtr> in_scope(scope_, inside(scope_));
    run_statements(statement.other);
    return;
  }
  const auto loop = make_counted<LoopObject>(statement, std::move(items), scope_, depth);
  const Value loop_value = keep(loop);
  const ScopePtr around = scope_;
  for (size_t i = 0; i < loop->size(); ++i) {
    budget_.spend();
    loop->advance();
    const Replaced<ScopePtr> in_scope(scope_, inside(around));
    scope_->names["loop"] = loop_value;
    assign(*statement.target, loop->current());
    if (run_statements(statement.body) == Flow::leave_loop) break;
  }
}

String Interpreter::run_loop(const Statement& statement, const Value& over, const ScopePtr& scope,
                             int depth) {
  const Budget::Nested nested = budget_.call();
  String out;
  const Replaced<ScopePtr> in_scope(scope_, inside(scope));
  const Replaced<String*> to(out_, &out);
  run_for(statement, over, depth);
  return out;
}

void Interpreter::run_with(const Statement& statement) {
  Values values;
  for (size_t i = 1; i < statement.expressions.size(); i += 2) {
    values.push_back(evaluate(*statement.expressions[i]));
  }
  const Replaced<ScopePtr> in_scope(scope_, inside(scope_));
  for (size_t i = 0; i < values.size(); ++i) assign(*statement.expressions[2 * i], values[i]);
  write(run_body(statement.body, scope_));
}

Value Interpreter::captured(const Statement& statement) {
  const Value text(run_body(statement.body, inside(scope_)));
  if (!statement.value) return text;
  const Replaced<const Value*> begins(block_text_, &text);
  return evaluate(*statement.value);
}

Value Interpreter::make_macro(const Statement& statement, std::string_view name) {
  return keep(make_counted<MacroObject>(statement, name, scope_));
}

void Interpreter::run_call_block(const Statement& statement) {
  const Expression& node = *statement.value;
  const Value callee = evaluate(*node.parts[0]);
  Arguments arguments = evaluate_arguments(node.arguments);
  arguments.named.emplace_back("caller", make_macro(statement, "caller"));
  line_ = node.line;
  write(to_text(call(callee, arguments), budget_));
}

String Interpreter::run_macro(const Signature& signature, const Body& body, const ScopePtr& scope,
                              const Arguments& arguments) {
  const Budget::Nested nested = budget_.call();
  const int line = line_;
  const ScopePtr own = inside(scope);
  Values more;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < signature.names.size()) {
      own->names[Text(signature.names[i])] = arguments.positional[i];
    } else {
      more.push_back(arguments.positional[i]);
    }
  }
  Pairs more_named;
  budget_.spend(16 * arguments.named.size() + arguments.named.size() * signature.names.size());
  const auto is_parameter = [&](std::string_view name) {
    return std::find(signature.names.begin(), signature.names.end(), name) != signature.names.end();
  };
  for (const auto& [name, value] : arguments.named) {
    if (name == "caller" || is_parameter(name)) {
      own->names[name] = value;
    } else {
      more_named.emplace_back(Value::text(name), value);
    }
  }
  budget_.spend(16 * signature.names.size());
  const Replaced<ScopePtr> in_scope(scope_, own);
  const size_t without_default = signature.names.size() - signature.defaults.size();
  for (size_t i = 0; i < signature.names.size(); ++i) {
    const Text name(signature.names[i]);
    if (own->names.contains(name)) continue;
    own->names[name] =
        i < without_default
            ? Value::undefined("parameter '" + signature.names[i] + "' was not provided")
            : evaluate(*signature.defaults[i - without_default]);
  }
  own->names.emplace("varargs", Value::list(std::move(more), ListKind::tuple));
  own->names.emplace("kwargs", Value::dict(std::move(more_named)));
  String out = run_body(body, own);
  line_ = line;
  return out;
}

void Interpreter::assign(const Expression& target, const Value& value) {
  if (target.kind == Expression::Kind::name) {
    scope_->names[Text(target.text)] = value;
    return;
  }
  if (target.kind == Expression::Kind::namespace_attribute) {
    const Value* found = scope_->find(target.text);
    auto* space = found != nullptr && found->is(Kind::object)
                      ? dynamic_cast<NamespaceObject*>(found->object().get())
                      : nullptr;
    if (space == nullptr) fault("cannot assign attribute on non-namespace object");
    space->set(target.more_text, value);
    return;
  }
  const Values values = items_of(value, budget_);
  if (values.size() != target.parts.size()) {
    fault("{} values to unpack (expected {}, got {})",
          values.size() < target.parts.size() ? "not enough" : "too many", target.parts.size(),
          values.size());
  }
  for (size_t i = 0; i < values.size(); ++i) assign(*target.parts[i], values[i]);
}

}  // namespace longhaul::jinja
