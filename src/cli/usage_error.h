#pragma once
// Errors in the command line, in one line.

#include <span>
#include <string>

#include "cli/cli11_names.h"

namespace longhaul {

/// Names the flag or argument, and the flag or command that was probably meant.
std::string usage_error_line(const CLI::App& program, const CLI::ParseError& error);

/// A message about an argument such as "-n=3", in which the parser would take "=3" for the value;
/// empty if there is none. `arguments` begin with the command.
std::string equals_problem(const CLI::App& program, std::span<const std::string> arguments);

/// Null if there is none of this name.
const CLI::App* find_command(const CLI::App& program, const std::string& name);
/// The error message, with the command that was probably meant.
std::string unknown_command_line(const CLI::App& program, const std::string& name);

}  // namespace longhaul
