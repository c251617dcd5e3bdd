#pragma once
// GPT-2's byte alphabet. Vocabularies of byte-level BPE write each byte as one printable character
// (a space is U+0120, for example). Inside Longhaul, tokens are plain bytes.

#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// Returns the bytes that a vocabulary entry encodes, or nothing if a character is not in the
/// alphabet.
std::optional<std::string> bytes_from_alphabet(std::string_view text);

}  // namespace longhaul
