// Attributes, items and methods of values, as exposed by the immutable sandbox of jinja2.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "jinja/library.h"
#include "jinja/objects.h"
#include "jinja/operators.h"
#include "text/printable.h"

namespace longhaul::jinja {
namespace {

/// Whether the method would modify its value, which the sandbox forbids.
bool changes(const Value& object, std::string_view name) {
  constexpr std::array<std::string_view, 8> kOfLists = {"append", "clear", "pop",    "reverse",
                                                        "insert", "sort",  "extend", "remove"};
  constexpr std::array<std::string_view, 5> kOfDicts = {"clear", "pop", "popitem", "setdefault",
                                                        "update"};
  const auto in = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (object.is(Kind::list)) return object.list().kind == ListKind::list && in(kOfLists);
  return object.is(Kind::dict) && in(kOfDicts);
}

Value missing(const Value& object, std::string_view name) {
  const bool none = object.is(Kind::none);
  return Value::undefined(fmt::format("'{}{}' has no attribute {}", none ? "None" : object.type(),
                                      none ? "" : " object", printable(name)));
}

Value keys(Interpreter& interpreter, const Value& dict, const Arguments&) {
  return Value::list(items_of(dict, interpreter.budget()));
}

Value values(Interpreter& interpreter, const Value& dict, const Arguments&) {
  interpreter.budget().spend(16 * dict.dict().items.size());
  Values out;
  for (const auto& [key, value] : dict.dict().items) out.push_back(value);
  return Value::list(std::move(out));
}

Value items(Interpreter& interpreter, const Value& dict, const Arguments&) {
  interpreter.budget().spend(48 * dict.dict().items.size());
  Values out;
  for (const auto& [key, value] : dict.dict().items) {
    out.push_back(Value::list({key, value}, ListKind::tuple));
  }
  return Value::list(std::move(out));
}

Value get(Interpreter& interpreter, const Value& dict, const Arguments& arguments) {
  const Parameters given(arguments, {"key", "default"});
  const Value* found = dict.dict().find(given[0], interpreter.budget());
  if (found != nullptr) return *found;
  return given.has(1) ? given[1] : Value::none();
}

Value copy(Interpreter&, const Value& value, const Arguments&) { return value; }

Value count(Interpreter& interpreter, const Value& list, const Arguments& arguments) {
  const Parameters given(arguments, {"value"});
  int64_t found = 0;
  for (const Value& item : list.list().items) {
    found += equal(item, given[0], interpreter.budget()) ? 1 : 0;
  }
  return Value(found);
}

Value index(Interpreter& interpreter, const Value& list, const Arguments& arguments) {
  const Parameters given(arguments, {"value"});
  const Values& all = list.list().items;
  for (size_t i = 0; i < all.size(); ++i) {
    if (equal(all[i], given[0], interpreter.budget())) return Value(static_cast<int64_t>(i));
  }
  fault("the value is not in the list");
}

}  // namespace

Filter find_container_method(const Value& object, std::string_view name) {
  if (object.is(Kind::dict)) {
    if (name == "get") return get;
    if (name == "items") return items;
    if (name == "keys") return keys;
    if (name == "values") return values;
    return name == "copy" ? copy : nullptr;
  }
  if (!object.is(Kind::list) || object.list().kind == ListKind::generator) return nullptr;
  if (name == "count") return count;
  if (name == "index") return index;
  return name == "copy" && object.list().kind == ListKind::list ? copy : nullptr;
}

Value find_method(const Value& object, std::string_view name) {
  const Filter code =
      object.is(Kind::string) ? find_text_method(name) : find_container_method(object, name);
  if (code == nullptr) return {};
  return function([code, object](Interpreter& interpreter, const Arguments& arguments) {
    interpreter.budget().spend();
    return code(interpreter, object, arguments);
  });
}

Value Interpreter::attribute(const Value& object, std::string_view name) {
  check_defined(object);
  if (object.is(Kind::object)) {
    Value found;
    return object.object()->attribute(name, found) ? found : missing(object, name);
  }
  if (Value method = find_method(object, name); !method.is(Kind::undefined)) return method;
  if (changes(object, name)) {
    return Value::undefined(
        fmt::format("access to attribute '{}' of '{}' object is unsafe", name, object.type()));
  }
  if (object.is(Kind::dict)) {
    budget_.spend(object.dict().items.size());
    if (const Value* found = object.dict().find(name)) return *found;
  }
  return missing(object, name);
}

Value Interpreter::item(const Value& object, const Value& key) {
  check_defined(object);
  if (object.is(Kind::dict)) {
    const bool hashable =
        !key.is(Kind::dict) && (!key.is(Kind::list) || key.list().kind != ListKind::list);
    const Value* found = hashable ? object.dict().find(key, budget_) : nullptr;
    if (found != nullptr) return *found;
  }
  if (key.is(Kind::string)) {
    if (object.is(Kind::dict)) {
      const Value method = find_method(object, key.bytes());
      return method.is(Kind::undefined) ? missing(object, key.bytes()) : method;
    }
    return attribute(object, key.bytes());
  }
  const bool sequence = object.is(Kind::string) || object.is(Kind::list);
  if (sequence && key.integer()) return element(object, *key.integer(), budget_);
  String shown;
  append_repr(shown, key, budget_);
  return Value::undefined(
      fmt::format("{} object has no element {}", object.type(), shown.bytes().substr(0, 80)));
}

Parameters::Parameters(const Arguments& arguments, std::initializer_list<const char*> names)
    : names_(names), values_(names.size(), nullptr) {
  if (arguments.positional.size() > names.size()) {
    fault("takes at most {} arguments, {} are given", names.size(), arguments.positional.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& given : arguments.named) {
    const Text& name = given.first;
    const auto found = std::find_if(names_.begin(), names_.end(),
                                    [&](const char* known) { return name == known; });
    if (found == names_.end()) fault("has no argument {}", printable(name));
    const auto at = static_cast<size_t>(found - names_.begin());
    if (values_[at] != nullptr) fault("argument {} is given twice", printable(name));
    values_[at] = &given.second;
  }
}

const Value& Parameters::operator[](size_t i) const {
  if (values_[i] == nullptr) fault("argument '{}' is missing", names_[i]);
  return *values_[i];
}

const Value* Parameters::given(size_t i) const {
  return values_[i] != nullptr && !values_[i]->is(Kind::none) ? values_[i] : nullptr;
}

int64_t Parameters::integer(size_t i, int64_t when_absent) const {
  if (values_[i] == nullptr) return when_absent;
  check_defined(*values_[i]);
  if (!values_[i]->integer()) {
    fault("argument '{}' must be an integer, not {}", names_[i], values_[i]->type());
  }
  return *values_[i]->integer();
}

bool Parameters::flag(size_t i, bool when_absent) const {
  return values_[i] == nullptr ? when_absent : values_[i]->truth();
}

String Parameters::text(size_t i, std::string_view when_absent, Budget& budget) const {
  if (values_[i] == nullptr) return {when_absent, Origin::kTemplate};
  return to_text(*values_[i], budget);
}

void put(Pairs& items, Value key, Value value, Budget& budget) {
  budget.spend(16 + items.size());
  if (key.is(Kind::dict) || (key.is(Kind::list) && key.list().kind == ListKind::list)) {
    fault("unhashable type: '{}'", key.type());
  }
  for (auto& [name, before] : items) {
    if (!equal(name, key, budget)) continue;
    before = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
}

}  // namespace longhaul::jinja
