#pragma once
// Options that hold several values: "5/7/8", as a comma would end the option.

#include <string_view>
#include <vector>

namespace longhaul {

/// The values between the slashes; none of an empty text.
std::vector<std::string_view> split_values(std::string_view text);

}  // namespace longhaul
