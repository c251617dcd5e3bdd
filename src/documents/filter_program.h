#pragma once
// Runs another program with bytes as standard input and returns its output, without a shell.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct FilterLimits {
  double seconds = 300;
  size_t bytes = size_t{256} << 20;  ///< limit of its output
};

struct Filtered {
  enum class End { kNotFound, kTooSlow, kTooMuch, kExited };
  End end = End::kNotFound;
  int status = 0;      ///< exit status; 128 + signal if killed by one
  std::string output;  ///< standard output
  std::string errors;  ///< end of its standard error output
};

/// Searches PATH. The program is killed if it exceeds a limit. It also receives Ctrl-C.
Filtered filter_through(const std::vector<std::string>& arguments, std::string_view input,
                        const FilterLimits& limits);

/// The last line of a program's error output, which usually describes the error.
std::string last_line(const std::string& text);

}  // namespace longhaul
