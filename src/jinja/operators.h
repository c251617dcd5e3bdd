#pragma once
// Python's operators on values. Each throws Fault where Python would throw a TypeError.

#include <string_view>

#include "jinja/value.h"

namespace longhaul::jinja {

Value unary(std::string_view op, const Value& value);  ///< + -
/// + - * / // % **
Value binary(std::string_view op, const Value& left, const Value& right, Budget& budget);
/// == != < <= > >= in, not in
bool compare(std::string_view op, const Value& left, const Value& right, Budget& budget);
bool contains(const Value& container, const Value& item, Budget& budget);

/// object[begin:end:step]; null pointers for missing parts.
Value slice(const Value& object, const Value* begin, const Value* end, const Value* step,
            Budget& budget);

/// The character or element at `index`, counted from the end if negative; undefined if it does not
/// exist.
Value element(const Value& object, int64_t index, Budget& budget);

}  // namespace longhaul::jinja
