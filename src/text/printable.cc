#include "text/printable.h"

#include <fmt/format.h>

#include <iterator>

#include "text/utf8.h"

namespace longhaul {

std::string printable(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string out = "'";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += text.size() > kLongest ? "...'" : "'";
  return out;
}

std::string one_line(std::string_view message) {
  std::string out;
  while (!message.empty()) {
    const Utf8Sequence next = read_utf8(message);
    const std::string_view character = message.substr(0, next.bytes);
    message.remove_prefix(next.bytes);
    const bool control = next.code_point < 0x20 ||
                         (next.code_point >= 0x7f && next.code_point < 0xa0) ||
                         changes_layout(next.code_point);
    if (next.status == Utf8Status::complete && !control) {
      out += character;
      continue;
    }
    for (const char c : character) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace longhaul
