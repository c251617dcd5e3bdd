#pragma once
// Compatibility with the command lines of llama.cpp and ollama. Each of their flags and commands is
// translated into this program's own, ignored with a note if it has no meaning here, or refused
// with a message that names the flag to use.

#include <span>
#include <string>
#include <vector>

#include "cli/cli11_names.h"

namespace longhaul {

struct OwnArguments {
  std::vector<std::string> arguments;  ///< a command and its flags in this program's form
  std::vector<std::string> notes;      ///< accepted flags without effect, one line each
};

/// `given` are all arguments after the program's name. Throws UserError for flags that have another
/// form here, or none.
OwnArguments in_own_words(const CLI::App& program, std::span<const char* const> given);

}  // namespace longhaul
