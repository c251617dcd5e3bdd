#pragma once
// The character encoding of a file.

#include <string>
#include <string_view>

namespace longhaul {

struct Charset {
  std::string encoding;  ///< iconv's name; empty: unknown
  size_t mark = 0;       ///< bytes of the byte-order mark
};

/// UTF-16 or UTF-32, by the byte-order mark or by zero bytes; empty for other texts.
Charset wide_charset(std::string_view bytes);

/// The encoding that an HTML page or XML file declares in its first bytes: <meta charset>, <meta
/// http-equiv content> or <?xml encoding>; empty if it declares none. A label that no browser
/// supports is returned unchanged.
std::string declared_charset(std::string_view bytes);

}  // namespace longhaul
