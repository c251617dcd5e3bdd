#pragma once
// Character references of HTML.

#include <cstdint>
#include <string_view>

namespace longhaul {

/// The character for "amp", "#233" or "#xe9"; 0 if there is none. Names are those of HTML 4 and
/// "apos".
uint32_t html_character(std::string_view reference);

}  // namespace longhaul
