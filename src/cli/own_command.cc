#include "cli/own_command.h"

#include "text/shell_word.h"

namespace longhaul {
namespace {

std::vector<std::string>& remembered_words() {
  static std::vector<std::string> words;
  return words;
}

}  // namespace

void remember_command(std::span<const char* const> arguments) {
  remembered_words().assign(arguments.begin(), arguments.end());
}

const std::vector<std::string>& own_command() { return remembered_words(); }

std::string command_with(const std::vector<std::string>& more) {
  std::vector<std::string> words = remembered_words();
  words.insert(words.end(), more.begin(), more.end());
  return shell_words(words);
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace longhaul
