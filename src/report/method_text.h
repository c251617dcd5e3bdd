#pragma once
// Methods as records and run.json name them: "snapkv:capacity=64,window=8", "control:no-context".
// Nothing is checked here: any text is a name (attention/method_spec.h checks before a run).

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Without its options; a control's whole text.
std::string_view method_name(std::string_view method);

/// "key=value" by "key=value" as the text has them; none of a control.
std::vector<std::string_view> method_options(std::string_view method);

/// As short as tables need it: the name with those options that not every method of that name among
/// `all` has; a control without "control:".
std::string short_method(std::string_view method, std::span<const std::string> all);

}  // namespace longhaul
