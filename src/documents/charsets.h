#pragma once
// Determines the character encoding of a text file.

#include <string>
#include <string_view>

namespace longhaul {

struct Charset {
  std::string encoding;  ///< name of the encoding for iconv; empty: unknown
  size_t mark = 0;       ///< size of the byte-order mark at the beginning, in bytes
};

/// Returns the variant of UTF-16 or UTF-32 that a byte-order mark or the positions of zero bytes
/// indicate. The encoding is empty for other texts.
Charset wide_charset(std::string_view bytes);

/// Returns the encoding that an HTML page or XML file declares in its first bytes, as <meta
/// charset>, <meta http-equiv content> or <?xml encoding>. The result is empty if there is no
/// declaration. A name that no browser supports is returned unchanged.
std::string declared_charset(std::string_view bytes);

}  // namespace longhaul
