#pragma once
// Suggestions for mistyped names: "did you mean".

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Returns the candidate with the fewest edits from `name`, ignoring case. The result is empty if
/// there are more edits than a typing error would cause (a third of the letters), unless `name` is
/// the beginning of one candidate only.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// Returns "; did you mean 'dense'?" to append to an error message, or an empty string if no
/// candidate is close.
std::string nearest_name_hint(std::string_view name, std::span<const std::string_view> candidates);
std::string nearest_name_hint(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace longhaul
