#pragma once
// Decodes character references of HTML.

#include <cstdint>
#include <string_view>

namespace longhaul {

/// Returns the character for "amp", "#233" or "#xe9", or 0 if the reference is invalid. Supports
/// the names of HTML 4, and "apos".
uint32_t html_character(std::string_view reference);

}  // namespace longhaul
