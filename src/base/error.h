#pragma once
// Defines the two kinds of errors. An error that the user can correct is a UserError. Its message
// is one line, and it leads to exit code 2. An internal error is a failed assertion
// (base/assert.h), which stops the program.

#include <fmt/format.h>

#include <string>

#include "base/assert.h"
#include "base/user_error.h"

namespace longhaul {

/// Throws UserError with a formatted message.
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
