#pragma once
// Creates one-line messages for errors in the command line.

#include <span>
#include <string>

#include "cli/cli11_names.h"

namespace longhaul {

/// Returns a message for an error of CLI11. It names the wrong flag or argument, and the flag or
/// command that the user probably meant.
std::string usage_error_line(const CLI::App& program, const CLI::ParseError& error);

/// Returns a message if an argument has a wrong "=", as in "-n=3" or "--ctx=". CLI11 would use "=3"
/// or an empty text as the value. Returns an empty text if there is no such argument. `arguments`
/// begin with the name of the command.
std::string equals_problem(const CLI::App& program, std::span<const std::string> arguments);

/// Returns the command of this name, or null if there is none.
const CLI::App* find_command(const CLI::App& program, const std::string& name);
/// Returns the error message for an unknown command. It names the command that the user probably
/// meant.
std::string unknown_command_line(const CLI::App& program, const std::string& name);

}  // namespace longhaul
