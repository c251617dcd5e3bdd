#pragma once
// Accepts command lines of llama.cpp and ollama. Each of their flags and commands is translated to
// this program's own, ignored with a note if it has no meaning here, or rejected with a message
// that names the flag to use.

#include <span>
#include <string>
#include <vector>

#include "cli/cli11_names.h"

namespace longhaul {

struct OwnArguments {
  std::vector<std::string> arguments;  ///< a command and its flags in this program's form
  std::vector<std::string> notes;      ///< one line for each accepted flag that has no effect
};

/// Translates the command line. `given` are all arguments after the name of the program. Throws
/// UserError for flags that are rejected.
OwnArguments in_own_words(const CLI::App& program, std::span<const char* const> given);

}  // namespace longhaul
