#include "tokenizer/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace longhaul {

namespace {

constexpr uint32_t kAlphabetEnd = 256 + 68;  // 68 bytes are not printable in Latin-1

bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
         (byte >= 0xAE && byte <= 0xFF);
}

std::array<int16_t, kAlphabetEnd> make_table() {
  std::array<int16_t, kAlphabetEnd> table;
  table.fill(-1);
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    table[stands_for_itself(byte) ? byte : next++] = static_cast<int16_t>(byte);
  }
  return table;
}

}  // namespace

std::optional<std::string> bytes_from_alphabet(std::string_view text) {
  static const std::array<int16_t, kAlphabetEnd> table = make_table();
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = read_utf8(text.substr(at));
    if (sequence.status != Utf8Status::complete || sequence.code_point >= kAlphabetEnd ||
        table[sequence.code_point] < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(table[sequence.code_point]);
    at += sequence.bytes;
  }
  return bytes;
}

}  // namespace longhaul
