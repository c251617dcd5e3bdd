#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace longhaul {

/// Parses a number. Returns true if `text` is exactly one number in the range of Number. Otherwise
/// returns false, and `number` is unspecified. Floating-point types accept "nan" and "inf".
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

}  // namespace longhaul
