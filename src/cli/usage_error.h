#pragma once
// Formats errors in the command line as one line.

#include <span>
#include <string>

#include "cli/cli11_names.h"

namespace longhaul {

/// Returns a message that names the flag or argument, and the flag or command that was probably
/// meant.
std::string usage_error_line(const CLI::App& program, const CLI::ParseError& error);

/// Returns a message about an argument such as "-n=3", in which the parser would read "=3" as the
/// value. The result is empty if there is no such argument. `arguments` begin with the command.
std::string equals_problem(const CLI::App& program, std::span<const std::string> arguments);

/// Returns the command of this name, or null if there is none.
const CLI::App* find_command(const CLI::App& program, const std::string& name);
/// Returns the error message, with the command that was probably meant.
std::string unknown_command_line(const CLI::App& program, const std::string& name);

}  // namespace longhaul
