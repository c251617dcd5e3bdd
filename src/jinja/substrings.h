#pragma once
// Python's str methods that cut texts up and put them together; pieces keep their origin.

#include <vector>

#include "jinja/value.h"

namespace longhaul::jinja {

/// Fault where the value is no text.
String text_argument(const Value& value);

/// `characters` are taken away, or white space where it is null.
String stripped(const String& text, const Value* characters, bool at_front, bool at_back,
                Budget& budget);
/// At `mark`, or at runs of white space where it is null; at most `most` times unless negative.
std::vector<Value> split_text(const String& text, const Value* mark, int64_t most, bool from_end,
                              Budget& budget);
std::vector<Value> lines_of(const String& text, bool with_ends, Budget& budget);
String replaced(const String& text, const String& before, const String& after, int64_t most,
                Budget& budget);
/// In the middle (^), at the left (<) or right (>) of `width` characters.
String justified(const String& text, int64_t width, const String& fill, char align, Budget& budget);

/// Bytes of text[begin:end]; none for a bound that is not given.
ByteRange range_of(std::string_view text, const Value& begin, const Value& end);
String part_of(const String& text, const Value& begin, const Value& end, Budget& budget);

}  // namespace longhaul::jinja
