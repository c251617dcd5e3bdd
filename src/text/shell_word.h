#pragma once

#include <string>
#include <string_view>

namespace longhaul {

/// Quotes an argument for a POSIX shell. The argument is returned unchanged if possible, and
/// otherwise in single quotes.
std::string shell_word(std::string_view argument);

}  // namespace longhaul
