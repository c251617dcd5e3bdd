#pragma once
// "did you mean": the known name that is closest to what was typed.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// The candidate with the fewest edits from `name`, whatever the case of letters, when these are
/// few enough to be a slip (at most a third of the letters); else empty.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// "; did you mean 'dense'?" to go behind an error's text; empty when nothing is near.
std::string nearest_name_hint(std::string_view name, std::span<const std::string_view> candidates);
std::string nearest_name_hint(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace longhaul
