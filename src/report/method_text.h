#pragma once
// Parses names of methods in records and run.json: "snapkv:capacity=64,window=8",
// "control:no-context". Names are not validated here, so any text is a name;
// attention/method_spec.h validates names before a run.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Returns the name without options. For a baseline it is the whole text.
std::string_view method_name(std::string_view method);

/// Returns the options "key=value" in the order of the text. A baseline has none.
std::vector<std::string_view> method_options(std::string_view method);

/// Returns a short name for tables. It contains only the options that differ among the methods with
/// this name in `all`. For a baseline it is the text without "control:".
std::string short_method(std::string_view method, std::span<const std::string> all);

}  // namespace longhaul
