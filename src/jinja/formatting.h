#pragma once
// Python's two ways of putting values into a text.

#include "jinja/value.h"

namespace longhaul::jinja {

/// `format % values`: one value, or a tuple of them, or a dict for %(name)s.
String percent_format(const String& format, const Value& values, Budget& budget);

/// format.format(...): {}, {0}, {name}, with a width, fill, alignment, sign, precision and type
/// behind a colon and !r or !s. Attributes and items inside of braces are refused.
String brace_format(const String& format, const Arguments& arguments, Budget& budget);

}  // namespace longhaul::jinja
