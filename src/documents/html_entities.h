#pragma once
// Decodes character references of HTML.

#include <cstdint>
#include <string_view>

namespace longhaul {

/// Returns the character to which a reference such as "amp", "#233" or "#xe9" refers, or 0 if it is
/// invalid. Supports the names of HTML 4, and "apos".
uint32_t html_character(std::string_view reference);

}  // namespace longhaul
