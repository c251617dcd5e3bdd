#pragma once
// Python's str methods that split and join texts; pieces keep their origin.

#include "jinja/value.h"

namespace longhaul::jinja {

/// Fault if the value is not a text.
const String& text_argument(const Value& value);

/// Position of the first `part` in `text` at or after `from`, or of the last one; npos if there is
/// none. The time is linear in both lengths; std::string_view::find may need their product.
size_t find_bytes(std::string_view text, std::string_view part, size_t from = 0);
size_t find_last_bytes(std::string_view text, std::string_view part);

/// Removes `characters`, or white space if null.
String stripped(const String& text, const Value* characters, bool at_front, bool at_back,
                Budget& budget);
/// Splits at `mark`, or at runs of white space if null; at most `most` times unless negative.
Values split_text(const String& text, const Value* mark, int64_t most, bool from_end,
                  Budget& budget);
Values lines_of(const String& text, bool with_ends, Budget& budget);
String replaced(const String& text, const String& before, const String& after, int64_t most,
                Budget& budget);
/// Aligns text in the middle (^), left (<) or right (>) of `width` characters.
String justified(const String& text, int64_t width, const String& fill, char align, Budget& budget);

/// Byte range of text[begin:end]; none for a missing bound.
ByteRange range_of(std::string_view text, const Value& begin, const Value& end);
String part_of(const String& text, const Value& begin, const Value& end, Budget& budget);

}  // namespace longhaul::jinja
