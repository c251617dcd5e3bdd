#pragma once

#include <string>
#include <string_view>

namespace longhaul {

/// Quotes an argument for a POSIX shell. An argument that needs no quotes is returned unchanged;
/// any other is put in single quotes.
std::string shell_word(std::string_view argument);

}  // namespace longhaul
