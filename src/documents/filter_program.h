#pragma once
// Runs another program on bytes and returns its output. No shell is involved.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct FilterLimits {
  double seconds = 300;              ///< limit of elapsed time and of processor time
  size_t bytes = size_t{256} << 20;  ///< most bytes of output
  size_t memory = size_t{2} << 30;   ///< most bytes of its data and its file
};

struct Filtered {
  enum class End { kNotFound, kTooSlow, kTooMuch, kExited };
  End end = End::kNotFound;
  int status = 0;      ///< exit status; 128 + signal if a signal killed it
  std::string output;  ///< standard output
  std::string errors;  ///< the end of its standard error
};

/// Searches PATH. A program that exceeds the limits of time or output is killed; beyond the limit
/// of memory its allocations fail. It is killed when this process ends, and Ctrl-C also reaches it.
Filtered filter_through(const std::vector<std::string>& arguments, std::string_view input,
                        const FilterLimits& limits);

/// The last line of a program's error output, which usually names the error.
std::string last_line(const std::string& text);

}  // namespace longhaul
