#pragma once
// Converts texts in other encodings to UTF-8.

#include <cstddef>
#include <string>
#include <string_view>

namespace longhaul {

/// Converts `bytes` in `encoding` ("UTF-16LE", "CP1252", ...) to UTF-8. Bytes that are not a
/// character of the encoding become U+FFFD. `broken` receives their number. Throws UserError if the
/// system does not support the encoding.
std::string to_utf8(std::string_view bytes, const char* encoding, size_t& broken);

/// Returns whether `bytes` are probably Windows-1252, the usual encoding of Western texts that are
/// not UTF-8. This is the case if they contain more invalid than valid UTF-8 sequences, and no
/// control characters except those that are usual in texts.
bool is_windows_1252(std::string_view bytes);

}  // namespace longhaul
