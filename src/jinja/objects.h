#pragma once
// Defines the objects of a running template: loops, namespaces, macros, built-in functions, and
// methods of values.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "jinja/interpreter.h"
#include "jinja/value.h"

namespace longhaul::jinja {

/// The object `loop` inside a for block.
class LoopObject : public Object {
 public:
  LoopObject(const Statement& statement, Values items, ScopePtr around, int depth)
      : statement_(statement),
        items_(std::move(items)),
        around_(std::move(around)),
        depth_(depth) {}

  const char* type() const override { return "LoopContext"; }
  bool callable() const override { return statement_.recursive; }
  bool attribute(std::string_view name, Value& out) const override;
  /// Runs the body of the same loop over other items. Templates do this in recursive loops.
  Value call(Interpreter& interpreter, const Arguments& arguments) override;
  void release() override;

  void advance() { ++index_; }
  const Value& current() const { return items_[static_cast<size_t>(index_)]; }
  size_t size() const { return items_.size(); }

 private:
  int64_t left() const { return std::ssize(items_) - index_; }

  const Statement& statement_;
  Values items_;
  ScopePtr around_;
  int depth_;
  int64_t index_ = -1;
};

/// The object that namespace(...) returns. It is the only kind of value that templates can change.
class NamespaceObject : public Object {
 public:
  const char* type() const override { return "Namespace"; }
  bool attribute(std::string_view name, Value& out) const override;
  void set(std::string_view name, const Value& value) { values_[Text(name)] = value; }
  void release() override { values_.clear(); }

 private:
  Names<Value> values_;
};

class MacroObject : public Object {
 public:
  MacroObject(const Statement& statement, std::string_view name, ScopePtr scope)
      : statement_(statement), name_(name), scope_(std::move(scope)) {}
  const char* type() const override { return "Macro"; }
  bool callable() const override { return true; }
  bool attribute(std::string_view name, Value& out) const override;
  Value call(Interpreter& interpreter, const Arguments& arguments) override;
  void release() override;

 private:
  const Statement& statement_;
  Text name_;
  ScopePtr scope_;
};

/// A built-in function.
class FunctionObject : public Object {
 public:
  using Code = std::function<Value(Interpreter&, const Arguments&)>;
  explicit FunctionObject(Code code, bool defined = true)
      : code_(std::move(code)), defined_(defined) {}
  const char* type() const override { return "function"; }
  bool callable() const override { return true; }
  bool defined() const override { return defined_; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override {
    return code_(interpreter, arguments);
  }

 private:
  Code code_;
  bool defined_;
};

Value function(FunctionObject::Code code, bool defined = true);

}  // namespace longhaul::jinja
