#pragma once
// Conversion of other encodings to UTF-8.

#include <cstddef>
#include <string>
#include <string_view>

namespace longhaul {

/// Converts `bytes` in `encoding` ("UTF-16LE", "CP1252", ...) to UTF-8. Bytes that are no character
/// of the encoding become U+FFFD, and `broken` counts them. Throws UserError if the system does not
/// support the encoding.
std::string to_utf8(std::string_view bytes, const char* encoding, size_t& broken);

/// Whether `bytes` look like Windows-1252, the usual encoding of Western texts that are not UTF-8:
/// they contain more invalid than valid sequences of UTF-8, and no control characters except those
/// usual in texts.
bool is_windows_1252(std::string_view bytes);

}  // namespace longhaul
