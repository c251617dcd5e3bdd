#pragma once
// Removes or replaces characters that serve only typography and would disturb a model.

#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul {

/// Appends a character as UTF-8.
void append_utf8(uint32_t code_point, std::string& text);

/// Cleans the text of a converted document. Ligatures and Arabic presentation forms become letters,
/// and no-break spaces become spaces. Soft hyphens, zero-width spaces, byte-order marks,
/// directional marks, and control characters other than tab and newline are removed.
std::string clean_converted(std::string_view text);

}  // namespace longhaul
