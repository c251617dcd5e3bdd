#pragma once
// What was wrong with the command line, in one line.

#include <string>

#include "cli/cli11_names.h"

namespace longhaul {

/// Names the flag or argument, and the flag or command that was probably meant.
std::string usage_error_line(const CLI::App& program, const CLI::ParseError& error);

}  // namespace longhaul
