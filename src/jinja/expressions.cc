// Evaluation of a template's expressions.

#include <fmt/format.h>

#include "jinja/interpreter.h"
#include "jinja/library.h"
#include "jinja/operators.h"
#include "text/printable.h"

namespace longhaul::jinja {

using Node = Expression::Kind;

Value Interpreter::evaluate(const Expression& node) {
  const Budget::Nested nested = budget_.node();
  budget_.spend();
  const auto part = [&](size_t i) { return evaluate(*node.parts[i]); };
  switch (node.kind) {
    case Node::constant:
      return node.value;
    case Node::name:
      return evaluate_name(node);
    case Node::list:
      return Value::list(evaluate_all(node.parts));
    case Node::tuple:
      return Value::list(evaluate_all(node.parts), ListKind::tuple);
    case Node::dict:
      return evaluate_dict(node);
    case Node::attribute: {
      const Value object = part(0);
      line_ = node.line;
      return attribute(object, node.text);
    }
    case Node::item:
      return evaluate_item(node);
    case Node::call: {
      const Value callee = part(0);
      const Arguments arguments = evaluate_arguments(node.arguments);
      line_ = node.line;
      return call(callee, arguments);
    }
    case Node::filter:
      return evaluate_filter(node);
    case Node::test: {
      const Value subject = part(0);
      const Arguments arguments = evaluate_arguments(node.arguments);
      line_ = node.line;
      return Value(test(node.text, subject, arguments));
    }
    case Node::unary: {
      const Value operand = part(0);
      line_ = node.line;
      return node.text == "not" ? Value(!operand.truth()) : unary(node.text, operand);
    }
    case Node::binary: {
      const Value left = part(0), right = part(1);
      line_ = node.line;
      return binary(node.text, left, right, budget_);
    }
    case Node::concatenate:
      return evaluate_concatenation(node);
    case Node::compare:
      return evaluate_compare(node);
    case Node::logical_and: {
      Value left = part(0);
      return left.truth() ? part(1) : left;
    }
    case Node::logical_or: {
      Value left = part(0);
      return left.truth() ? left : part(1);
    }
    case Node::condition:
      if (part(1).truth()) return part(0);
      return node.parts[2] ? part(2) : Value::undefined("an 'if' without 'else' gave no value");
    case Node::slice:
    case Node::namespace_attribute:
      break;
  }
  fault("a slice or an assignment stands where a value is needed");
}

Value Interpreter::evaluate_name(const Expression& node) const {
  const Value* found = scope_->find(node.text);
  if (found == nullptr) found = find_function(node.text);
  return found != nullptr ? *found
                          : Value::undefined(fmt::format(
                                "'{}' is undefined", std::string_view(node.text).substr(0, 100)));
}

Values Interpreter::evaluate_all(const std::vector<ExpressionPtr>& nodes) {
  Values values;
  values.reserve(nodes.size());
  for (const ExpressionPtr& node : nodes) values.push_back(evaluate(*node));
  return values;
}

Value Interpreter::evaluate_dict(const Expression& node) {
  Pairs items;
  for (size_t i = 0; i < node.parts.size(); i += 2) {
    Value key = evaluate(*node.parts[i]), value = evaluate(*node.parts[i + 1]);
    put(items, std::move(key), std::move(value), budget_);
  }
  return Value::dict(std::move(items));
}

Value Interpreter::evaluate_item(const Expression& node) {
  const Value object = evaluate(*node.parts[0]);
  const Expression& index = *node.parts[1];
  if (index.kind == Node::slice) return evaluate_slice(object, index);
  const Value key = evaluate(index);
  line_ = node.line;
  return item(object, key);
}

Value Interpreter::evaluate_slice(const Value& object, const Expression& node) {
  Value values[3];
  const Value* given[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    if (!node.parts[i]) continue;
    values[i] = evaluate(*node.parts[i]);
    given[i] = &values[i];
  }
  line_ = node.line;
  return slice(object, given[0], given[1], given[2], budget_);
}

Value Interpreter::evaluate_concatenation(const Expression& node) {
  String text;
  for (const ExpressionPtr& part : node.parts) {
    const String more = to_text(evaluate(*part), budget_);
    budget_.check_length(text.size() + more.size());
    budget_.spend(more.weight());
    text.append(more);
  }
  return Value(std::move(text));
}

Value Interpreter::evaluate_compare(const Expression& node) {
  Value left = evaluate(*node.parts[0]);
  for (size_t i = 0; i < node.operators.size(); ++i) {
    Value right = evaluate(*node.parts[i + 1]);
    line_ = node.line;
    if (!compare(node.operators[i], left, right, budget_)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate_filter(const Expression& node) {
  const Value subject = node.parts[0] ? evaluate(*node.parts[0]) : *block_text_;
  const Arguments arguments = evaluate_arguments(node.arguments);
  line_ = node.line;
  return filter(node.text, subject, arguments);
}

Arguments Interpreter::evaluate_arguments(const CallArguments& nodes) {
  Arguments found;
  found.positional = evaluate_all(nodes.positional);
  for (const auto& [name, node] : nodes.named) {
    found.named.emplace_back(name, evaluate(*node));
  }
  if (nodes.more) {
    for (Value& value : items_of(evaluate(*nodes.more), budget_)) {
      found.positional.push_back(std::move(value));
    }
  }
  if (nodes.more_named) {
    const Value more = evaluate(*nodes.more_named);
    if (!more.is(Kind::dict)) fault("argument after ** must be a mapping, not {}", more.type());
    budget_.spend(32 * more.dict().items.size());
    for (const auto& [key, value] : more.dict().items) {
      if (!key.is(Kind::string)) fault("keywords must be strings");
      budget_.spend(key.bytes().size());
      found.named.emplace_back(key.bytes(), value);
    }
  }
  return found;
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  check_defined(callee);
  if (!callee.is(Kind::object)) fault("'{}' object is not callable", callee.type());
  return callee.object()->call(*this, arguments);
}

Value Interpreter::filter(std::string_view name, const Value& subject, const Arguments& arguments) {
  budget_.spend();
  const Filter code = find_filter(name);
  if (code == nullptr) fault("no filter named {}", printable(name));
  return code(*this, subject, arguments);
}

bool Interpreter::test(std::string_view name, const Value& subject, const Arguments& arguments) {
  budget_.spend();
  const Test code = find_test(name);
  if (code == nullptr) fault("no test named {}", printable(name));
  return code(*this, subject, arguments);
}

}  // namespace longhaul::jinja
