#pragma once
// Functions that depend on the kind of a character: case, digits, white space. They use Unicode's
// simple mappings (utf8proc); of mappings to several characters only that of U+00DF is supported.

#include <string_view>

#include "jinja/string.h"

namespace longhaul::jinja {

String lowered(const String& text);
String uppered(const String& text);
String swapped_case(const String& text);
String capitalized(const String& text);  ///< the first character in upper case, the rest in lower
/// str.title(): words are runs of letters.
String titled(const String& text);
/// The filter `title`: words begin after white space, hyphens and opening brackets.
String titled_words(const String& text);

// Equivalents of str.isalpha() and similar; false for empty text.
bool all_letters(std::string_view text);
bool all_digits(std::string_view text);
bool all_letters_or_digits(std::string_view text);
bool all_space(std::string_view text);
bool all_ascii(std::string_view text);  ///< also true for empty text
/// all letters with case are lower-case, and there is at least one
bool all_lower(std::string_view text);
bool all_upper(std::string_view text);

}  // namespace longhaul::jinja
