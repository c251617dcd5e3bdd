#pragma once
// Texts that are not UTF-8, as UTF-8.

#include <cstddef>
#include <string>
#include <string_view>

namespace longhaul {

/// The text of `bytes` in `encoding` ("UTF-16LE", "CP1252", ...), with U+FFFD where they are none
/// of its characters; `broken` counts those places. Throws UserError where the system does not know
/// the encoding.
std::string to_utf8(std::string_view bytes, const char* encoding, size_t& broken);

/// What most texts that are not UTF-8 are, if they are texts of Western languages: one byte a
/// letter, with more broken UTF-8 than UTF-8 in it and none of the controls that no text has.
bool is_windows_1252(std::string_view bytes);

}  // namespace longhaul
