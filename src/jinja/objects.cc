#include "jinja/objects.h"

#include <fmt/format.h>

namespace longhaul::jinja {
namespace {

Value cycle(const Values& values, int64_t index) {
  if (values.empty()) fault("loop.cycle() needs values");
  return values[static_cast<size_t>(index) % values.size()];
}

}  // namespace

bool LoopObject::attribute(std::string_view name, Value& out) const {
  const auto found = [&out](Value value) {
    out = std::move(value);
    return true;
  };
  if (name == "index") return found(Value(index_ + 1));
  if (name == "index0") return found(Value(index_));
  if (name == "revindex") return found(Value(left()));
  if (name == "revindex0") return found(Value(left() - 1));
  if (name == "first") return found(Value(index_ == 0));
  if (name == "last") return found(Value(left() == 1));
  if (name == "length") return found(Value(static_cast<int64_t>(items_.size())));
  if (name == "depth") return found(Value(int64_t{depth_} + 1));
  if (name == "depth0") return found(Value(int64_t{depth_}));
  if (name == "previtem") {
    return found(index_ > 0 ? items_[static_cast<size_t>(index_ - 1)]
                            : Value::undefined("there is no previous item"));
  }
  if (name == "nextitem") {
    return found(left() > 1 ? items_[static_cast<size_t>(index_ + 1)]
                            : Value::undefined("there is no next item"));
  }
  if (name == "cycle") {
    return found(function([index = index_](Interpreter&, const Arguments& arguments) {
      return cycle(arguments.positional, index);
    }));
  }
  return false;
}

Value LoopObject::call(Interpreter& interpreter, const Arguments& arguments) {
  if (!statement_.recursive) fault("the loop is not 'recursive' and cannot be called");
  if (arguments.positional.size() != 1 || !arguments.named.empty()) {
    fault("loop() takes the items of the next level");
  }
  return Value(interpreter.run_loop(statement_, arguments.positional[0], around_, depth_ + 1));
}

void LoopObject::release() {
  items_.clear();
  around_.reset();
  index_ = -1;
}

bool NamespaceObject::attribute(std::string_view name, Value& out) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return false;
  out = found->second;
  return true;
}

bool MacroObject::attribute(std::string_view name, Value& out) const {
  if (name != "name") return false;
  out = Value::text(name_);
  return true;
}

Value MacroObject::call(Interpreter& interpreter, const Arguments& arguments) {
  return Value(interpreter.run_macro(statement_.signature, statement_.body, scope_, arguments));
}

void MacroObject::release() {
  if (scope_) scope_->names.clear();
  scope_.reset();
}

Value function(FunctionObject::Code code, bool defined) {
  return Value(make_counted<FunctionObject>(std::move(code), defined));
}

}  // namespace longhaul::jinja
