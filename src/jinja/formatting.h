#pragma once
// Python's two ways of formatting values into a text.

#include "jinja/value.h"

namespace longhaul::jinja {

/// `format % values`: one value, a tuple of values, or a dict for %(name)s.
String percent_format(const String& format, const Value& values, Budget& budget);

/// format.format(...): {}, {0}, {name}, with a width, fill, alignment, sign, precision and type
/// after a colon, and !r or !s. Attributes and items inside braces are refused.
String brace_format(const String& format, const Arguments& arguments, Budget& budget);

}  // namespace longhaul::jinja
