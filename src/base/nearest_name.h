#pragma once
// Suggests corrections of mistyped names ("did you mean").

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Returns the candidate with the fewest edits from `name`, ignoring case. The number of edits may
/// be at most a third of the letters of `name`, or 1 if `name` is shorter. If no candidate is that
/// close, returns the only candidate that begins with `name`, if `name` has at least three letters.
/// Otherwise the result is empty.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// Returns a text to append to an error message, such as "; did you mean 'dense'?". Returns an
/// empty string if no candidate is similar.
std::string nearest_name_hint(std::string_view name, std::span<const std::string_view> candidates);
std::string nearest_name_hint(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace longhaul
