#pragma once
// Accepts command lines of llama.cpp and ollama. Each of their flags and commands is translated to
// one of this program, removed with a note if it has no effect here, or rejected with a message
// that names an alternative (cli/compat_flag_table.h).

#include <span>
#include <string>
#include <vector>

#include "cli/cli11_names.h"

namespace longhaul {

struct OwnArguments {
  std::vector<std::string> arguments;  ///< a command and its flags in this program's form
  std::vector<std::string> notes;      ///< one line for the user about each flag that was removed
};

/// Translates the command line. `given` are all arguments after the name of the program. Throws
/// UserError for flags that are rejected.
OwnArguments in_own_words(const CLI::App& program, std::span<const char* const> given);

}  // namespace longhaul
