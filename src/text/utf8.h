#pragma once
// Reads UTF-8 characters and replaces invalid parts by U+FFFD. Each maximal invalid part of a
// sequence becomes one U+FFFD (the Unicode Standard, section 3.9, "U+FFFD substitution").

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
  uint32_t bytes;  ///< length of the character, of the broken part, or of the incomplete beginning
  uint32_t code_point;
};

Utf8Sequence read_utf8(std::string_view text);

/// Returns `text` itself if it is valid. Otherwise stores the repaired text in `storage` and
/// returns a view of it. Adds the number of replaced sequences to `*replaced`.
std::string_view repair_utf8(std::string_view text, std::string& storage, size_t* replaced);

/// Removes the complete characters from `held` and returns them. An incomplete character at the end
/// stays in `held`. Invalid sequences become U+FFFD.
std::string take_complete_utf8(std::string& held);

/// Returns whether a character changes how the text around it is displayed. These are characters
/// with Unicode's property Bidi_Control, and the line and paragraph separators U+2028 and U+2029.
bool changes_layout(uint32_t code_point);

/// Returns whether a character has Unicode's property White_Space.
bool is_white_space(uint32_t code_point);

/// trim_front() returns the text without white space at its beginning, and trim_back() without
/// white space at its end.
std::string_view trim_front(std::string_view text);
std::string_view trim_back(std::string_view text);

}  // namespace longhaul
