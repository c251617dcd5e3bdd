// The tests that can follow `is`.

#include <algorithm>
#include <array>

#include "jinja/letters.h"
#include "jinja/library.h"
#include "jinja/operators.h"

namespace longhaul::jinja {
namespace {

bool is_defined(const Value& value) {
  return !value.is(Kind::undefined) && (!value.is(Kind::object) || value.object()->defined());
}

template <Kind kind>
bool of_kind(Interpreter&, const Value& value, const Arguments&) {
  return value.is(kind);
}

bool defined(Interpreter&, const Value& value, const Arguments&) { return is_defined(value); }
bool undefined(Interpreter&, const Value& value, const Arguments&) { return !is_defined(value); }
bool number(Interpreter&, const Value& value, const Arguments&) { return value.is_number(); }
bool is_true(Interpreter&, const Value& value, const Arguments&) {
  return value.is(Kind::boolean) && value.boolean();
}
bool is_false(Interpreter&, const Value& value, const Arguments&) {
  return value.is(Kind::boolean) && !value.boolean();
}
bool callable(Interpreter&, const Value& value, const Arguments&) {
  return value.is(Kind::undefined) || (value.is(Kind::object) && value.object()->callable());
}
bool iterable(Interpreter&, const Value& value, const Arguments&) {
  return value.is(Kind::string) || value.is(Kind::list) || value.is(Kind::dict) ||
         value.is(Kind::undefined);
}
bool sequence(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const bool generator = value.is(Kind::list) && value.list().kind == ListKind::generator;
  return iterable(interpreter, value, arguments) && !generator;
}
bool is_markup(Interpreter&, const Value& value, const Arguments&) {
  return value.is(Kind::string) && value.string().markup();
}

template <bool wanted>
bool is_odd(Interpreter&, const Value& value, const Arguments&) {
  check_defined(value);
  if (!value.integer()) fault("needs an integer, not {}", value.type());
  return (*value.integer() % 2 != 0) == wanted;
}

bool divisible(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Parameters given(arguments, {"num"});
  const Value rest = binary("%", value, given[0], interpreter.budget());
  return !rest.truth();
}

template <const char* const& op>
bool compared(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Parameters given(arguments, {"other"});
  return compare(op, value, given[0], interpreter.budget());
}
constexpr const char *kEqual = "==", *kUnequal = "!=", *kLess = "<",
                     *kAtMost = "<=", *kGreater = ">", *kAtLeast = ">=", *kIn = "in";

bool same(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Parameters given(arguments, {"other"});
  return value.kind() == given[0].kind() && equal(value, given[0], interpreter.budget());
}

template <bool (*holds)(std::string_view)>
bool letters(Interpreter& interpreter, const Value& value, const Arguments&) {
  return holds(to_text(value, interpreter.budget()).bytes());
}

bool filter_exists(Interpreter&, const Value& value, const Arguments&) {
  return value.is(Kind::string) && find_filter(value.bytes()) != nullptr;
}
bool test_exists(Interpreter&, const Value& value, const Arguments&) {
  return value.is(Kind::string) && find_test(value.bytes()) != nullptr;
}

constexpr auto kTests = std::to_array<std::pair<std::string_view, Test>>({
    {"!=", compared<kUnequal>},
    {"<", compared<kLess>},
    {"<=", compared<kAtMost>},
    {"==", compared<kEqual>},
    {">", compared<kGreater>},
    {">=", compared<kAtLeast>},
    {"boolean", of_kind<Kind::boolean>},
    {"callable", callable},
    {"defined", defined},
    {"divisibleby", divisible},
    {"eq", compared<kEqual>},
    {"equalto", compared<kEqual>},
    {"escaped", is_markup},
    {"even", is_odd<false>},
    {"false", is_false},
    {"filter", filter_exists},
    {"float", of_kind<Kind::real>},
    {"ge", compared<kAtLeast>},
    {"greaterthan", compared<kGreater>},
    {"gt", compared<kGreater>},
    {"in", compared<kIn>},
    {"integer", of_kind<Kind::integer>},
    {"iterable", iterable},
    {"le", compared<kAtMost>},
    {"lessthan", compared<kLess>},
    {"lower", letters<all_lower>},
    {"lt", compared<kLess>},
    {"mapping", of_kind<Kind::dict>},
    {"ne", compared<kUnequal>},
    {"none", of_kind<Kind::none>},
    {"number", number},
    {"odd", is_odd<true>},
    {"sameas", same},
    {"sequence", sequence},
    {"string", of_kind<Kind::string>},
    {"test", test_exists},
    {"true", is_true},
    {"undefined", undefined},
    {"upper", letters<all_upper>},
});

}  // namespace

Test find_test(std::string_view name) {
  const auto* const found = std::find_if(kTests.begin(), kTests.end(),
                                         [&](const auto& test) { return test.first == name; });
  return found == kTests.end() ? nullptr : found->second;
}

}  // namespace longhaul::jinja
