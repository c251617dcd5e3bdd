#pragma once
// GPT-2's alphabet for bytes: vocabularies of byte-level BPE write each byte as one printable
// character (space as U+0120, for example). Inside Longhaul tokens are plain bytes.

#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// The bytes that a vocabulary entry stands for; nothing when a character is not of the alphabet.
std::optional<std::string> bytes_from_alphabet(std::string_view text);

}  // namespace longhaul
