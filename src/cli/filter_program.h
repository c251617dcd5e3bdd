#pragma once
// Another program: bytes into its standard input, what it prints out of it. No shell comes into
// it.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct FilterLimits {
  double seconds = 300;
  size_t bytes = size_t{256} << 20;  ///< of its output
};

struct Filtered {
  enum class End { kNotFound, kTooSlow, kTooMuch, kExited };
  End end = End::kNotFound;
  int status = 0;      ///< exit status; 128 + signal when killed by one
  std::string output;  ///< standard output
  std::string errors;  ///< the end of what it wrote to standard error
};

/// Searches PATH. Beyond a limit the program is killed. Ctrl-C reaches it too.
Filtered filter_through(const std::vector<std::string>& arguments, std::string_view input,
                        const FilterLimits& limits);

/// The last line of a program's complaints: usually the one that says what was wrong.
std::string last_line(const std::string& text);

}  // namespace longhaul
