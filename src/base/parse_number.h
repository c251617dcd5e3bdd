#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace longhaul {

/// Whether `text` is one number from its first to its last character, within what Number can hold;
/// else `number` is not to be used. Takes "nan" and "inf" for floating point.
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

}  // namespace longhaul
