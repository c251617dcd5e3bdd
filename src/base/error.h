#pragma once
// There are two kinds of errors. Errors that the user can correct are exceptions with one clear
// line, and lead to exit code 2. Internal errors are assertions that stop the program.

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
