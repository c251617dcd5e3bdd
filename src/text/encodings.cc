#include "text/encodings.h"

#include <iconv.h>

#include <cerrno>

#include "base/error.h"

namespace longhaul {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Bytes of the well-formed UTF-8 character at the beginning of `text`; 0 if there is none.
/// Overlong forms and surrogates are accepted, because this only distinguishes encodings.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f') || byte == 0x7f;
}

}  // namespace

std::string to_utf8(std::string_view bytes, const char* encoding, size_t& broken) {
  const iconv_t converter = iconv_open("UTF-8", encoding);
  if (converter == reinterpret_cast<iconv_t>(-1)) {
    user_error("this system cannot read {} (iconv does not know it)", encoding);
  }
  const size_t unit = std::string_view(encoding).starts_with("UTF-16") ? 2 : 1;
  std::string text;
  char buffer[16384];
  char* in = const_cast<char*>(bytes.data());  // iconv() only reads it
  size_t left = bytes.size();
  while (left > 0) {
    char* out = buffer;
    size_t room = sizeof buffer;
    const size_t result = iconv(converter, &in, &left, &out, &room);
    text.append(buffer, static_cast<size_t>(out - buffer));
    if (result != static_cast<size_t>(-1) || errno == E2BIG) continue;
    // An invalid character of this encoding (EILSEQ), or an incomplete one at the end (EINVAL).
    text += kReplacement;
    ++broken;
    const size_t skipped = left < unit ? left : unit;
    in += skipped;
    left -= skipped;
  }
  iconv_close(converter);
  return text;
}

bool is_windows_1252(std::string_view bytes) {
  size_t characters = 0, broken = 0;  // characters beyond ASCII
  for (size_t i = 0; i < bytes.size();) {
    if (is_control(bytes[i])) return false;
    const size_t length = utf8_length(bytes.substr(i));
    characters += length > 1 ? 1 : 0;
    broken += length == 0 ? 1 : 0;
    i += length == 0 ? 1 : length;
  }
  return broken > characters;
}

}  // namespace longhaul
