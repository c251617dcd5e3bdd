// Functions available in every template.

#include <map>

#include "jinja/library.h"
#include "jinja/objects.h"
#include "jinja/refusal.h"

namespace longhaul::jinja {
namespace {

Value range(Interpreter& interpreter, const Arguments& arguments) {
  constexpr int64_t kMost = 100'000;  // as jinja2's sandbox
  const Parameters given(arguments, {"start", "stop", "step"});
  const bool one = !given.has(1);
  int64_t at = one ? 0 : given.integer(0, 0);
  const int64_t stop = one ? given.integer(0, 0) : given.integer(1, 0);
  const int64_t step = given.integer(2, 1);
  if (!given.has(0)) fault("range() needs an end");
  if (step == 0) fault("range() step must not be zero");
  Values items;
  while (step > 0 ? at < stop : at > stop) {
    if (std::ssize(items) == kMost) fault("range() is limited to {} items", kMost);
    interpreter.budget().spend(16);
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return Value::list(std::move(items));
}

/// The items of dict() and namespace(): from one positional argument, which is a dict or a list of
/// pairs, and from the named arguments.
Pairs pairs_of(Interpreter& interpreter, const Arguments& arguments) {
  Budget& budget = interpreter.budget();
  if (arguments.positional.size() > 1) fault("takes at most one argument");
  Pairs items;
  for (const Value& source : arguments.positional) {
    if (source.is(Kind::dict)) {
      budget.spend(32 * source.dict().items.size());
      items = source.dict().items;
      continue;
    }
    for (const Value& pair : items_of(source, budget)) {
      Values two = items_of(pair, budget);
      if (two.size() != 2) fault("a pair of key and value is needed");
      put(items, std::move(two[0]), std::move(two[1]), budget);
    }
  }
  for (const auto& [name, value] : arguments.named) put(items, Value::text(name), value, budget);
  return items;
}

Value dict(Interpreter& interpreter, const Arguments& arguments) {
  return Value::dict(pairs_of(interpreter, arguments));
}

Value make_namespace(Interpreter& interpreter, const Arguments& arguments) {
  auto space = make_counted<NamespaceObject>();
  for (const auto& [key, value] : pairs_of(interpreter, arguments)) {
    space->set(to_text(key, interpreter.budget()).bytes(), value);
  }
  return interpreter.keep(std::move(space));
}

Value raise_exception(Interpreter& interpreter, const Arguments& arguments) {
  const Parameters given(arguments, {"message"});
  throw Refusal(std::string(to_text(given[0], interpreter.budget()).bytes()));
}

}  // namespace

const Value* find_function(std::string_view name) {
  static const std::map<std::string, Value, std::less<>> functions = {
      {"dict", function(dict)},
      {"namespace", function(make_namespace)},
      {"raise_exception", function(raise_exception)},
      {"range", function(range)},
  };
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : &found->second;
}

}  // namespace longhaul::jinja
