#pragma once
// Handles text that the user pastes into the terminal. On request, a terminal puts "\x1b[200~"
// before and "\x1b[201~" after pasted text. If a pasted text has several lines, the line editor
// shows a placeholder instead, such as "[pasted 1: 12 lines]". When the message is complete, the
// placeholder is replaced by the lines.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

inline constexpr std::string_view kPasteBegins = "\x1b[200~", kPasteEnds = "\x1b[201~";

class Pastes {
 public:
  /// Returns what the editor shows for a pasted text. A single line is shown without its control
  /// characters. Several lines are stored, and a placeholder is returned.
  std::string shown(std::string text);

  /// Returns `line` with the placeholders replaced by the stored lines, and removes the stored
  /// lines.
  std::string put_back(std::string line);

 private:
  struct Paste {
    std::string word, text;
  };
  std::vector<Paste> pastes_;
};

}  // namespace longhaul
