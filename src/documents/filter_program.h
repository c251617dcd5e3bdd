#pragma once
// Runs another program, writes to its standard input, and returns its output. No shell is used.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct FilterLimits {
  double seconds = 300;              ///< limit of elapsed time and of processor time
  size_t bytes = size_t{256} << 20;  ///< largest size of the output
  /// Limit of the program's memory for data, and of the size of a file that it writes.
  size_t memory = size_t{2} << 30;
};

struct Filtered {
  enum class End { kNotFound, kTooSlow, kTooMuch, kExited };
  End end = End::kNotFound;
  int status = 0;      ///< exit status, or 128 + signal if a signal killed the program
  std::string output;  ///< standard output of the program
  std::string errors;  ///< last part of the program's standard error
};

/// Runs a program, which is searched in PATH. The program is killed if it exceeds the limits of
/// time or output. Its allocations fail if it exceeds the limit of memory. It is also killed when
/// this process ends. Ctrl-C on the terminal also reaches it.
Filtered filter_through(const std::vector<std::string>& arguments, std::string_view input,
                        const FilterLimits& limits);

/// Returns the last line of `text`, a program's error output. It usually describes the error.
std::string last_line(const std::string& text);

}  // namespace longhaul
