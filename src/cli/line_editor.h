#pragma once
// Lines from the user: with editing and history on a terminal, plain otherwise.

#include <optional>
#include <string>

namespace longhaul {

/// Empty at the end of input or when Ctrl-C interrupted the reading. `prompt` is shown only on a
/// terminal.
std::optional<std::string> read_line(const std::string& prompt);

}  // namespace longhaul
