#pragma once
// Filters text for a terminal. Control characters could otherwise rename its window, write to its
// clipboard, or hide earlier output.

#include <string>
#include <string_view>

namespace longhaul {

/// Filters text that arrives in pieces. Line feeds and tabs are kept, and a Windows line end
/// becomes a line feed. Other control characters (C0, delete, and C1 with U+009B, which begins
/// sequences as ESC [ does), characters that change the direction of text, and invalid UTF-8
/// sequences become U+FFFD.
class TerminalText {
 public:
  /// Returns the text that is complete so far. The first bytes of an incomplete character are held
  /// back.
  std::string push(std::string_view text);

 private:
  std::string held_;  // at most 3 bytes
};

/// Filters a whole text.
std::string terminal_text(std::string_view text);

}  // namespace longhaul
