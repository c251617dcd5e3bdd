#pragma once
// GPT-2's byte alphabet: vocabularies of byte-level BPE write each byte as one printable character
// (space as U+0120, for example). Inside Longhaul tokens are plain bytes.

#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// The bytes encoded by a vocabulary entry; empty if a character is not in the alphabet.
std::optional<std::string> bytes_from_alphabet(std::string_view text);

}  // namespace longhaul
