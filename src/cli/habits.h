#pragma once
// Command lines that people are used to from llama.cpp and ollama: each of their flags and commands
// is translated into this program's own, ignored with a note where it means nothing here, or
// refused with a message that names the flag to use.

#include <span>
#include <string>
#include <vector>

#include "cli/cli11_names.h"

namespace longhaul {

struct OwnArguments {
  std::vector<std::string> arguments;  ///< a command and its flags, as this program names them
  std::vector<std::string> notes;      ///< what was taken and does nothing, a line each
};

/// `given`: all arguments behind the program's name. Throws UserError for flags that have another
/// form here, or none.
OwnArguments in_own_words(const CLI::App& program, std::span<const char* const> given);

}  // namespace longhaul
