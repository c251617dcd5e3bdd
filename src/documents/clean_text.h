#pragma once
// Removes or replaces typographic characters of documents that a model should not read.

#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul {

/// Appends a character as UTF-8.
void append_utf8(uint32_t code_point, std::string& text);

/// The text of a converted document: ligatures and Arabic presentation forms become letters,
/// no-break spaces become spaces, soft hyphens, zero-width spaces, byte-order marks, directional
/// marks and control characters other than tab and newline are removed.
std::string clean_converted(std::string_view text);

}  // namespace longhaul
