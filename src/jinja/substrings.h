#pragma once
// Implements Python's str methods that split and join strings. Pieces keep their origin.

#include "jinja/value.h"

namespace longhaul::jinja {

/// Returns the string. Throws Fault if the value is not a string.
const String& text_argument(const Value& value);

/// find_bytes() returns the position of the first `part` in `text` at or after `from`, and
/// find_last_bytes() that of the last one. The result is npos if there is none. The time is linear
/// in both lengths, whereas std::string_view::find may take their product.
size_t find_bytes(std::string_view text, std::string_view part, size_t from = 0);
size_t find_last_bytes(std::string_view text, std::string_view part);

/// Removes `characters` at the requested ends. Null means white space.
String stripped(const String& text, const Value* characters, bool at_front, bool at_back,
                Budget& budget);
/// Splits a string at `mark`, or at runs of white space if it is null. There are at most `most`
/// splits, unless it is negative.
Values split_text(const String& text, const Value* mark, int64_t most, bool from_end,
                  Budget& budget);
Values lines_of(const String& text, bool with_ends, Budget& budget);
String replaced(const String& text, const String& before, const String& after, int64_t most,
                Budget& budget);
/// Aligns a string in a field of `width` characters: centred (^), left (<) or right (>).
String justified(const String& text, int64_t width, const String& fill, char align, Budget& budget);

/// Returns the byte range of text[begin:end]. A bound that is None is missing.
ByteRange range_of(std::string_view text, const Value& begin, const Value& end);
String part_of(const String& text, const Value& begin, const Value& end, Budget& budget);

}  // namespace longhaul::jinja
