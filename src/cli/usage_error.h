#pragma once
// What was wrong with the command line, in one line.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Names the flag or argument, and the flag or command that was probably meant.
std::string usage_error_line(const CLI::App& program, const CLI::ParseError& error);

/// base/nearest_name.h for strings.
std::string closest(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace longhaul
