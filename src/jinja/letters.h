#pragma once
// Implements Python's str methods that convert case or examine the kinds of characters. Case is
// converted by Unicode's simple mappings (utf8proc), which map a character to one character. The
// only exception is U+00DF, whose upper case has two characters.

#include <string_view>

#include "jinja/string.h"

namespace longhaul::jinja {

String lowered(const String& text);
String uppered(const String& text);
String swapped_case(const String& text);
/// Returns the text with its first character in upper case and the rest in lower case.
String capitalized(const String& text);
/// Returns the result of str.title(). Each run of letters counts as a word, which gets a capital at
/// its beginning.
String titled(const String& text);
/// Returns the result of Jinja's filter `title`. In contrast to str.title(), a word begins only
/// after white space, hyphens and opening brackets.
String titled_words(const String& text);

// The following functions are equivalent to str.isalpha() and similar methods. They return false
// for an empty text.
bool all_letters(std::string_view text);
bool all_digits(std::string_view text);
bool all_letters_or_digits(std::string_view text);
bool all_space(std::string_view text);
bool all_ascii(std::string_view text);  ///< also returns true for empty text
/// Returns true if all letters that have a case are lower-case and there is at least one.
bool all_lower(std::string_view text);
bool all_upper(std::string_view text);

}  // namespace longhaul::jinja
