#pragma once
// Converts texts that are not encoded in UTF-8 to UTF-8.

#include <cstddef>
#include <string>
#include <string_view>

namespace longhaul {

/// Converts `bytes` in `encoding` ("UTF-16LE", "CP1252", ...) to UTF-8. Each invalid byte becomes
/// U+FFFD, and `broken` receives the number of invalid bytes. Throws UserError if the system does
/// not support the encoding.
std::string to_utf8(std::string_view bytes, const char* encoding, size_t& broken);

/// Returns whether `bytes` are probably Windows-1252, the usual encoding of Western texts that are
/// not UTF-8. The result is true if more of the non-ASCII sequences in `bytes` are invalid UTF-8
/// than valid, and if there are no control characters except those that are usual in texts.
bool is_windows_1252(std::string_view bytes);

}  // namespace longhaul
