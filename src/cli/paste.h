#pragma once
// Pasted text, which a terminal marks on request: "\x1b[200~" before, "\x1b[201~" after it. The
// line editor shows several pasted lines as one word, "[pasted 1: 12 lines]", which is replaced
// when the line is complete.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

inline constexpr std::string_view kPasteBegins = "\x1b[200~", kPasteEnds = "\x1b[201~";

class Pastes {
 public:
  /// The editor's representation of the text: a single line without control characters, or a word
  /// for several lines.
  std::string shown(std::string text);

  /// `line` with the words replaced by the pasted lines; forgets them.
  std::string put_back(std::string line);

 private:
  struct Paste {
    std::string word, text;
  };
  std::vector<Paste> pastes_;
};

}  // namespace longhaul
