#pragma once
// Reads UTF-8 characters and replaces invalid bytes by U+FFFD. Invalid bytes are grouped as the
// Unicode Standard recommends (section 3.9, "U+FFFD substitution of maximal subparts"); each group
// becomes one U+FFFD.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

enum class Utf8Status { complete, broken, truncated };

/// The character, or the invalid sequence, at the beginning of a text.
struct Utf8Sequence {
  Utf8Status status;
  /// Length of the character, of the invalid sequence, or of the incomplete character.
  uint32_t bytes;
  uint32_t code_point;
};

Utf8Sequence read_utf8(std::string_view text);

/// Returns `text` itself if it is valid UTF-8. Otherwise replaces invalid sequences by U+FFFD,
/// stores the result in `storage`, and returns a view of it. Adds the number of replaced sequences
/// to `*replaced`.
std::string_view repair_utf8(std::string_view text, std::string& storage, size_t* replaced);

/// Removes the complete characters from `held` and returns them. An incomplete character at the end
/// stays in `held`. Invalid sequences become U+FFFD.
std::string take_complete_utf8(std::string& held);

/// Returns whether a character changes how the text around it is displayed. Such a character has
/// Unicode's property Bidi_Control, or is the line or paragraph separator (U+2028, U+2029).
bool changes_layout(uint32_t code_point);

/// Returns whether a character has Unicode's property White_Space.
bool is_white_space(uint32_t code_point);

/// trim_front() returns the text without white space at its beginning, and trim_back() without
/// white space at its end.
std::string_view trim_front(std::string_view text);
std::string_view trim_back(std::string_view text);

}  // namespace longhaul
