#pragma once
// Python's operators over values. Each throws Fault where Python would throw a TypeError.

#include <string_view>

#include "jinja/value.h"

namespace longhaul::jinja {

Value unary(std::string_view op, const Value& value);  ///< + -
/// + - * / // % **
Value binary(std::string_view op, const Value& left, const Value& right, Budget& budget);
/// == != < <= > >= in, not in
bool compare(std::string_view op, const Value& left, const Value& right, Budget& budget);
bool contains(const Value& container, const Value& item, Budget& budget);

/// object[begin:end:step]; null pointers for what is not given.
Value slice(const Value& object, const Value* begin, const Value* end, const Value* step,
            Budget& budget);

/// The character or element at `index`, counted from the end where it is negative; an undefined
/// value where there is none.
Value element(const Value& object, int64_t index, Budget& budget);

}  // namespace longhaul::jinja
