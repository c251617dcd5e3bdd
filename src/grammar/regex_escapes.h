#pragma once
// Parses the escapes of regular expressions, such as \d and \u00e9.

#include <string_view>

#include "grammar/char_set.h"

namespace longhaul::grammar {

/// Parses the escape after a backslash. `at` is the position after the backslash, and is moved to
/// the end of the escape. `in_class` is true inside brackets. Throws UserError if the escape is
/// malformed, or if it does not stand for a set of characters (a reference to a group, for
/// example).
CharSet read_regex_escape(std::string_view pattern, size_t& at, bool in_class);

/// Reads one character at `at`, and moves `at` behind it. Throws UserError if it is not valid
/// UTF-8.
char32_t read_character(std::string_view text, size_t& at);

/// Reads exactly `digits` hexadecimal digits at `at`, and moves `at` behind them. Throws UserError
/// if there are fewer.
char32_t read_hex(std::string_view text, size_t& at, int digits);

}  // namespace longhaul::grammar
