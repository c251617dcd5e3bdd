#pragma once
// Filters text for a terminal, where control characters could rename its window, write to its
// clipboard or hide earlier output.

#include <string>
#include <string_view>

namespace longhaul {

/// For text that comes in pieces. Line feeds and tabs are kept, and a Windows line end becomes a
/// line feed. Every other control character (C0, delete, C1, including U+009B, which begins a
/// sequence like ESC [), every character that changes the direction of text, and every broken
/// sequence of UTF-8 becomes U+FFFD.
class TerminalText {
 public:
  /// The text that is complete so far; the first bytes of an incomplete character are held back.
  std::string push(std::string_view text);

 private:
  std::string held_;  // at most 3 bytes
};

/// Filters a whole text.
std::string terminal_text(std::string_view text);

}  // namespace longhaul
