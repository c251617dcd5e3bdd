#pragma once
// Pasted text, which a terminal marks when it is asked to: "\x1b[200~" before, "\x1b[201~" behind.
// Lines of it stand in the line editor as one word, "[pasted 1: 12 lines]", that is put back when
// the line is done.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

inline constexpr std::string_view kPasteBegins = "\x1b[200~", kPasteEnds = "\x1b[201~";

class Pastes {
 public:
  /// What the editor is to show for it: one line as it is, without control characters, several as
  /// their word.
  std::string shown(std::string text);

  /// `line` with the pasted lines in the place of their words; forgets them.
  std::string put_back(std::string line);

 private:
  struct Paste {
    std::string word, text;
  };
  std::vector<Paste> pastes_;
};

}  // namespace longhaul
