#pragma once
// Names of methods in records and run.json: "snapkv:capacity=64,window=8", "control:no-context".
// Nothing is validated here: any text is a name (attention/method_spec.h validates before a run).

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// The name without options; a baseline's whole text.
std::string_view method_name(std::string_view method);

/// The options "key=value" in text order; none for a baseline.
std::vector<std::string_view> method_options(std::string_view method);

/// Short form for tables: the name with the options that not every method of that name in `all`
/// has; a baseline without "control:".
std::string short_method(std::string_view method, std::span<const std::string> all);

}  // namespace longhaul
