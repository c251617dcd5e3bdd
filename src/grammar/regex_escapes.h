#pragma once
// Reads the escapes of patterns, such as \d and \u00e9.

#include <string_view>

#include "grammar/char_set.h"

namespace longhaul::grammar {

/// Reads the escape after a backslash at `at`, and moves `at` to its end. Throws UserError if the
/// escape is malformed or if no automaton can match it.
CharSet read_regex_escape(std::string_view pattern, size_t& at, bool in_class);

/// Reads one character at `at`. Throws UserError if it is not valid UTF-8.
char32_t read_character(std::string_view text, size_t& at);

/// Reads exactly `digits` hexadecimal digits. Throws UserError if there are fewer.
char32_t read_hex(std::string_view text, size_t& at, int digits);

}  // namespace longhaul::grammar
