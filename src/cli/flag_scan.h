#pragma once
// Separates flags and their values in a command line.

#include <string>

#include "cli/cli11_names.h"

namespace longhaul {

/// A flag that has a value, and the part of the argument after the flag.
struct FlagWithValue {
  const CLI::Option* option = nullptr;  ///< null: the argument is not such a flag
  std::string name, rest;
};

/// Parses an argument of the form "--name=rest", "--name", "-nrest", or "-qnrest" if q has no
/// value.
FlagWithValue flag_with_value(const CLI::App& app, const std::string& argument);

}  // namespace longhaul
