#pragma once
// Determines the character encoding of a file.

#include <string>
#include <string_view>

namespace longhaul {

struct Charset {
  std::string encoding;  ///< name of the encoding for iconv; empty: unknown
  size_t mark = 0;       ///< size of the byte-order mark in bytes
};

/// Returns UTF-16 or UTF-32 if the byte-order mark or zero bytes indicate it. The result is empty
/// for other texts.
Charset wide_charset(std::string_view bytes);

/// Returns the encoding that an HTML page or XML file declares in its first bytes, as <meta
/// charset>, <meta http-equiv content> or <?xml encoding>. The result is empty if there is none. A
/// label that no browser supports is returned unchanged.
std::string declared_charset(std::string_view bytes);

}  // namespace longhaul
