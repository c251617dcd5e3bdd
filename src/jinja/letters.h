#pragma once
// What depends on what a character is: case, digits, white space. By Unicode's simple mappings
// (utf8proc); of those with more than one character only that of U+00DF is known.

#include <string_view>

#include "jinja/string.h"

namespace longhaul::jinja {

String lowered(const String& text);
String uppered(const String& text);
String swapped_case(const String& text);
String capitalized(const String& text);  ///< the first character in upper case, the rest in lower
/// str.title(): words are runs of letters.
String titled(const String& text);
/// The filter `title`: words begin behind white space, hyphens and opening brackets.
String titled_words(const String& text);

// As str.isalpha() and its like: false of empty text.
bool all_letters(std::string_view text);
bool all_digits(std::string_view text);
bool all_letters_or_digits(std::string_view text);
bool all_space(std::string_view text);
bool all_ascii(std::string_view text);  ///< also of empty text
bool all_lower(std::string_view text);  ///< of the letters with case, of which there is one
bool all_upper(std::string_view text);

}  // namespace longhaul::jinja
