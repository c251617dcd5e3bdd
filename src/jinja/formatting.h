#pragma once
// Implements Python's two ways to format values.

#include "jinja/value.h"

namespace longhaul::jinja {

/// Returns `format % values`. `values` is one value, a tuple of values, or a dict for %(name)s.
String percent_format(const String& format, const Value& values, Budget& budget);

/// Returns format.format(...). It supports {}, {0} and {name}, the conversions !r and !s, and
/// format specifications with fill, alignment, sign, width, precision and type. Throws Fault for
/// attributes and items inside braces ({a.b}, {a[0]}).
String brace_format(const String& format, const Arguments& arguments, Budget& budget);

}  // namespace longhaul::jinja
