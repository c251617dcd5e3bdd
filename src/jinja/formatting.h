#pragma once
// Implements Python's two ways to format values.

#include "jinja/value.h"

namespace longhaul::jinja {

/// Returns `format % values`. `values` is one value, a tuple of values, or a dict for %(name)s.
String percent_format(const String& format, const Value& values, Budget& budget);

/// Returns format.format(...). It supports {}, {0} and {name}, !r and !s, and after a colon a
/// width, fill, alignment, sign, precision and type. Throws Fault for attributes and items inside
/// braces.
String brace_format(const String& format, const Arguments& arguments, Budget& budget);

}  // namespace longhaul::jinja
