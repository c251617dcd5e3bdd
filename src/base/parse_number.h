#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace longhaul {

/// Parses `text`, which must be exactly one number within the range of Number. If it returns false,
/// `number` is unspecified. Floating point accepts "nan" and "inf".
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

}  // namespace longhaul
