#pragma once
// Functions that depend on the kind of a character: case, digits and white space. They use
// Unicode's simple mappings (utf8proc). Among mappings to several characters, only that of U+00DF
// is supported.

#include <string_view>

#include "jinja/string.h"

namespace longhaul::jinja {

String lowered(const String& text);
String uppered(const String& text);
String swapped_case(const String& text);
/// Returns the text with its first character in upper case and the rest in lower case.
String capitalized(const String& text);
/// Returns str.title(). Words are runs of letters.
String titled(const String& text);
/// Returns the result of the filter `title`. Words begin after white space, hyphens and opening
/// brackets.
String titled_words(const String& text);

// Equivalents of str.isalpha() and similar functions. They return false for empty text.
bool all_letters(std::string_view text);
bool all_digits(std::string_view text);
bool all_letters_or_digits(std::string_view text);
bool all_space(std::string_view text);
bool all_ascii(std::string_view text);  ///< also returns true for empty text
/// Returns true if all letters that have a case are lower-case and there is at least one.
bool all_lower(std::string_view text);
bool all_upper(std::string_view text);

}  // namespace longhaul::jinja
