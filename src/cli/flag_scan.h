#pragma once
// Recognises flags with values in a command line before CLI11 parses it.

#include <string>

#include "cli/cli11_names.h"

namespace longhaul {

/// A flag that has a value. `name` is the flag as it was written, and `rest` is the remainder of
/// the argument after the flag.
struct FlagWithValue {
  const CLI::Option* option = nullptr;  ///< null: the argument is not such a flag
  std::string name, rest;
};

/// Parses an argument of the form "--name=rest", "--name", "-nrest", or "-qnrest" if -q is a flag
/// without a value. `app` defines the flags.
FlagWithValue flag_with_value(const CLI::App& app, const std::string& argument);

}  // namespace longhaul
