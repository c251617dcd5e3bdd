#pragma once
// Running another program and waiting for it.

#include <string>
#include <vector>

namespace longhaul {

struct ChildResult {
  bool started = false;  ///< false: no such program
  int status = 0;        ///< exit status; 128 + signal when killed
  std::string errors;    ///< the end of what it wrote to standard error
};

/// Searches PATH; standard output goes nowhere. Ctrl-C reaches the child too.
ChildResult run_child(const std::vector<std::string>& arguments);

/// The last line of a program's complaints: usually the one that says what was wrong.
std::string last_line(const std::string& text);

}  // namespace longhaul
