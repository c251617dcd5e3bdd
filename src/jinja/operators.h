#pragma once
// Implements Python's operators on values. Each function throws Fault where Python would throw a
// TypeError.

#include <string_view>

#include "jinja/value.h"

namespace longhaul::jinja {

Value unary(std::string_view op, const Value& value);  ///< `op` is + or -
/// `op` is +, -, *, /, //, % or **.
Value binary(std::string_view op, const Value& left, const Value& right, Budget& budget);
/// `op` is ==, !=, <, <=, >, >=, in, or "not in".
bool compare(std::string_view op, const Value& left, const Value& right, Budget& budget);
bool contains(const Value& container, const Value& item, Budget& budget);

/// Returns Python's object[begin:end:step]. A bound or step that is missing is null.
Value slice(const Value& object, const Value* begin, const Value* end, const Value* step,
            Budget& budget);

/// Returns the character of a string, or the element of a list, at `index`. A negative index counts
/// from the end. The result is an undefined value if there is no such element.
Value element(const Value& object, int64_t index, Budget& budget);

}  // namespace longhaul::jinja
