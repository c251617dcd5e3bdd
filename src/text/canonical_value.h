#pragma once
// Canonical forms of values that can be written in several ways ("yes" is "true", "007" is "7").
// Each function throws UserError with the permitted values: "from 1 to 16,777,216 tokens", "true or
// false", "avg or max".

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

struct NumberRange {
  double least = 0, most = 0;  ///< inclusive
  std::string_view unit;       ///< empty for none
};

/// Without leading zeros and similar.
std::string canonical_integer(std::string_view value, const NumberRange& range);
std::string canonical_real(std::string_view value, const NumberRange& range);
/// "true" for true, on, yes, 1; "false" for their opposites.
std::string canonical_flag(std::string_view value);
/// One of the names.
std::string canonical_choice(std::string_view value, std::span<const std::string_view> names);

}  // namespace longhaul
