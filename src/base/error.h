#pragma once
// Two kinds of errors: the user's (an exception with one clear line, exit code 2) and internal ones
// (an assertion that stops the program).

#include <fmt/format.h>

#include <string>

#include "base/assert.h"
#include "base/user_error.h"

namespace longhaul {

template <class... Args>
[[noreturn]] void user_error(fmt::format_string<Args...> format, Args&&... args) {
  throw UserError(fmt::format(format, std::forward<Args>(args)...));
}

/// Writes `warning: ...` to standard error.
void warn_line(const std::string& line);

template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  warn_line(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace longhaul
