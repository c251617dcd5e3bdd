#pragma once
// Suggestions for mistyped names: "did you mean".

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// The candidate with the fewest edits from `name`, ignoring case. Empty unless these are few
/// enough for a typing error (at most a third of the letters).
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// "; did you mean 'dense'?" to append to an error message; empty if no candidate is close.
std::string nearest_name_hint(std::string_view name, std::span<const std::string_view> candidates);
std::string nearest_name_hint(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace longhaul
