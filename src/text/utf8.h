#pragma once
// UTF-8: reading characters, and putting U+FFFD in the place of what is broken, one for each
// maximal part of a sequence (the Unicode Standard, 3.9, "U+FFFD substitution").

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

enum class Utf8Status { complete, broken, truncated };

/// The sequence at the beginning of a text that is not empty.
struct Utf8Sequence {
  Utf8Status status;
  uint32_t bytes;  ///< of the character, of the broken part, or of the beginning that is there
  uint32_t code_point;
};

Utf8Sequence read_utf8(std::string_view text);

/// `text` itself when it is valid, otherwise `storage`, filled with the repaired text. Adds the
/// number of sequences replaced to `*replaced`.
std::string_view repair_utf8(std::string_view text, std::string& storage, size_t* replaced);

/// Takes from the front of `held`, and returns, everything but a character at the end whose last
/// bytes are missing. Broken sequences become U+FFFD.
std::string take_complete_utf8(std::string& held);

/// Unicode's White_Space property.
bool is_white_space(uint32_t code_point);

/// The text without the white space at its beginning, or at its end.
std::string_view trim_front(std::string_view text);
std::string_view trim_back(std::string_view text);

}  // namespace longhaul
