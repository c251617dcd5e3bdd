#pragma once
// Decodes GPT-2's byte alphabet. Files with a vocabulary of byte-level BPE write each byte of a
// token as one printable character (a space is written as U+0120, for example). Inside Longhaul,
// tokens are plain bytes.

#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// Returns the bytes that a vocabulary entry encodes, or nothing if a character is not in the
/// alphabet.
std::optional<std::string> bytes_from_alphabet(std::string_view text);

}  // namespace longhaul
