#pragma once
// Parses the texts of methods in records and run.json, such as "snapkv:capacity=64,window=8" or
// "control:no-context". The functions accept any text, because attention/method_spec.h has
// validated methods before the run.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Returns the name of a method without its options. For a baseline ("control:..."), returns the
/// whole text.
std::string_view method_name(std::string_view method);

/// Returns the options of a method as texts "key=value", in their order. A baseline has none.
std::vector<std::string_view> method_options(std::string_view method);

/// Returns a short name for tables: the name of the method, and only those of its options that are
/// not the same for all methods of this name in `all`. For a baseline, returns the text without
/// "control:".
std::string short_method(std::string_view method, std::span<const std::string> all);

}  // namespace longhaul
