#pragma once
// Implements Python's str methods that search, split, strip, replace and align. The results keep
// the origins of their bytes (Origin).

#include "jinja/value.h"

namespace longhaul::jinja {

/// Returns the string of `value`. Throws Fault if the value is not a string.
const String& text_argument(const Value& value);

/// find_bytes() returns the position of the first `part` in `text` at or after `from`, and
/// find_last_bytes() that of the last one. The result is npos if there is none. The time is
/// proportional to the sum of the two lengths, whereas the time of std::string_view::find can be
/// proportional to their product.
size_t find_bytes(std::string_view text, std::string_view part, size_t from = 0);
size_t find_last_bytes(std::string_view text, std::string_view part);

/// Removes all characters that occur in the string `characters` from the requested ends. If
/// `characters` is null, removes white space.
String stripped(const String& text, const Value* characters, bool at_front, bool at_back,
                Budget& budget);
/// Splits a string at every `mark`, or at runs of white space if `mark` is null. If `most` is not
/// negative, splits at most `most` times, from the end if `from_end` is true.
Values split_text(const String& text, const Value* mark, int64_t most, bool from_end,
                  Budget& budget);
Values lines_of(const String& text, bool with_ends, Budget& budget);
String replaced(const String& text, const String& before, const String& after, int64_t most,
                Budget& budget);
/// Extends a string to `width` characters by adding `fill`. `align` is ^ for centred, < for left or
/// > for right.
String justified(const String& text, int64_t width, const String& fill, char align, Budget& budget);

/// Returns the byte range of Python's text[begin:end], whose bounds are characters. A bound that is
/// None means the beginning or end of the text.
ByteRange range_of(std::string_view text, const Value& begin, const Value& end);
String part_of(const String& text, const Value& begin, const Value& end, Budget& budget);

}  // namespace longhaul::jinja
