#pragma once
// Which arguments of a command line are flags, and which are their values.

#include <string>

#include "cli/cli11_names.h"

namespace longhaul {

/// The flag of an argument where it takes a value, and the part of the argument behind it.
struct FlagWithValue {
  const CLI::Option* option = nullptr;  ///< null: the argument is no such flag
  std::string name, rest;
};

/// Of "--name=rest", "--name", "-nrest", or "-qnrest" where q takes no value.
FlagWithValue flag_with_value(const CLI::App& app, const std::string& argument);

}  // namespace longhaul
