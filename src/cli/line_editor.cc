#include "cli/line_editor.h"

#include <editline/readline.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace longhaul {

std::optional<std::string> read_line(const std::string& prompt) {
  std::string line;
  if (isatty(STDIN_FILENO) == 0) {
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  char* typed = readline(prompt.c_str());
  if (typed == nullptr) return std::nullopt;
  line = typed;
  std::free(typed);
  if (!line.empty()) add_history(line.c_str());
  return line;
}

}  // namespace longhaul
