#pragma once

#include <string>
#include <string_view>

namespace longhaul {

/// An argument as a POSIX shell reads it back: itself, or between single quotes.
std::string shell_word(std::string_view argument);

}  // namespace longhaul
