#pragma once
// Handles pasted text. A terminal marks it on request with "\x1b[200~" before and "\x1b[201~" after
// it. The line editor shows several pasted lines as one word, such as "[pasted 1: 12 lines]". The
// word is replaced by the lines when the message is complete.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

inline constexpr std::string_view kPasteBegins = "\x1b[200~", kPasteEnds = "\x1b[201~";

class Pastes {
 public:
  /// Returns the text as the editor shows it: a single line without control characters, or a word
  /// that represents several lines.
  std::string shown(std::string text);

  /// Returns `line` with the words replaced by the pasted lines, and forgets these lines.
  std::string put_back(std::string line);

 private:
  struct Paste {
    std::string word, text;
  };
  std::vector<Paste> pastes_;
};

}  // namespace longhaul
