#pragma once
// Filters text for a terminal. Without the filter, control characters in a reply could rename the
// terminal's window, write to its clipboard, or hide earlier output.

#include <string>
#include <string_view>

namespace longhaul {

/// Filters text that arrives in pieces. Line feeds and tabs are kept, and a Windows line end
/// becomes a line feed. All other control characters become U+FFFD. This includes U+009B, which
/// begins a control sequence like the two characters ESC [. Characters that change the direction of
/// text and invalid UTF-8 sequences also become U+FFFD.
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
