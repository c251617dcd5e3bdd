#pragma once
// Reads UTF-8 characters and replaces broken parts by U+FFFD, one for each maximal part of a
// sequence (the Unicode Standard, 3.9, "U+FFFD substitution").

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

enum class Utf8Status { complete, broken, truncated };

/// The sequence at the beginning of a non-empty text.
struct Utf8Sequence {
  Utf8Status status;
  uint32_t bytes;  ///< length of the character, of the broken part, or of the incomplete beginning
  uint32_t code_point;
};

Utf8Sequence read_utf8(std::string_view text);

/// Returns `text` itself if it is valid, otherwise `storage`, filled with the repaired text. Adds
/// the number of replaced sequences to `*replaced`.
std::string_view repair_utf8(std::string_view text, std::string& storage, size_t* replaced);

/// Removes from `held`, and returns, everything except an incomplete character at the end. Broken
/// sequences become U+FFFD.
std::string take_complete_utf8(std::string& held);

/// Whether a character changes how the text around it is shown: Unicode's property Bidi_Control,
/// and the separators of lines and paragraphs (U+2028, U+2029).
bool changes_layout(uint32_t code_point);

/// Unicode's White_Space property.
bool is_white_space(uint32_t code_point);

/// The text without white space at its beginning, or at its end.
std::string_view trim_front(std::string_view text);
std::string_view trim_back(std::string_view text);

}  // namespace longhaul
