#include "cli/paste.h"

#include <fmt/format.h>

#include <algorithm>

namespace longhaul {
namespace {

/// Terminals send pasted line ends with the Enter key's code.
std::string with_newlines(const std::string& text) {
  std::string lines;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (text[i] == '\r') {
      lines += '\n';
      if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
    } else if (c >= 0x20 || text[i] == '\n' || text[i] == '\t') {
      lines += text[i];
    }
  }
  return lines;
}

}  // namespace

std::string Pastes::shown(std::string text) {
  text = with_newlines(text);
  while (text.ends_with('\n')) text.pop_back();
  const auto ends = std::count(text.begin(), text.end(), '\n');
  if (ends == 0) {
    // the editor would treat it as word completion
    std::replace(text.begin(), text.end(), '\t', ' ');
    return text;
  }
  std::string word = fmt::format("[pasted {}: {} lines]", pastes_.size() + 1, ends + 1);
  pastes_.push_back({word, std::move(text)});
  return word;
}

std::string Pastes::put_back(std::string line) {
  for (const Paste& paste : pastes_) {
    const size_t at = line.find(paste.word);
    if (at == std::string::npos) continue;  // deleted by the user
    std::string text = paste.text;
    if (at > 0 && line[at - 1] != '\n') text.insert(0, "\n");
    const size_t behind = at + paste.word.size();
    if (behind < line.size()) text += '\n';
    line.replace(at, paste.word.size(), text);
  }
  pastes_.clear();
  return line;
}

}  // namespace longhaul
