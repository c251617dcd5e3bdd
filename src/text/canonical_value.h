#pragma once
// Converts option values that a user can write in several ways to one canonical text ("yes" becomes
// "true", and "007" becomes "7"). If the value is not permitted, each function throws a UserError
// whose message describes the permitted values, such as "from 1 to 16,777,216 tokens", "true or
// false" or "avg or max".

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

struct NumberRange {
  double least = 0, most = 0;  ///< smallest and largest permitted number
  std::string_view unit;       ///< empty: no unit
};

/// Returns the canonical text of an integer, for example without leading zeros.
std::string canonical_integer(std::string_view value, const NumberRange& range);
std::string canonical_real(std::string_view value, const NumberRange& range);
/// Returns "true" for true, on, yes and 1, and "false" for their opposites.
std::string canonical_flag(std::string_view value);
/// Returns `value`, which must be one of `names`.
std::string canonical_choice(std::string_view value, std::span<const std::string_view> names);

}  // namespace longhaul
