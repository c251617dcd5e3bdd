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

/// Returns object[begin:end:step]. Null pointers represent missing parts.
Value slice(const Value& object, const Value* begin, const Value* end, const Value* step,
            Budget& budget);

/// Returns the character or element at `index`, which is counted from the end if it is negative.
/// The result is undefined if it does not exist.
Value element(const Value& object, int64_t index, Budget& budget);

}  // namespace longhaul::jinja
