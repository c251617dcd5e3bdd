#pragma once
// Text made fit for a terminal, which obeys control characters: they could rename its window, write
// to its clipboard or hide what was printed before.

#include <string>
#include <string_view>

namespace longhaul {

/// For text that comes in pieces. Line feeds and tabs stay, a line end of Windows becomes a line
/// feed; every other control character (C0, delete, C1: also U+009B, which begins a sequence as
/// ESC [ does) and every broken sequence of UTF-8 becomes U+FFFD.
class TerminalText {
 public:
  /// The text that is complete so far; the first bytes of a character are kept until the rest
  /// comes.
  std::string push(std::string_view text);

 private:
  std::string held_;  // at most 3 bytes
};

/// A whole text.
std::string terminal_text(std::string_view text);

}  // namespace longhaul
