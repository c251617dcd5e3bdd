#pragma once
// What llama.cpp and ollama have taught people to type: each of their flags and commands is put
// into the words of this program, taken with a note where it means nothing here, or refused with
// the flag that does it.

#include <span>
#include <string>
#include <vector>

#include "cli/cli11_names.h"

namespace longhaul {

struct OwnArguments {
  std::vector<std::string> arguments;  ///< a command and its flags, as this program names them
  std::vector<std::string> notes;      ///< what was taken and does nothing, a line each
};

/// `given`: all behind the program's name. Throws UserError for what is done by another flag, or
/// not at all.
OwnArguments in_own_words(const CLI::App& program, std::span<const char* const> given);

}  // namespace longhaul
