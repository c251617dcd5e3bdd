#pragma once

#include <string>
#include <string_view>

namespace longhaul {

/// Makes text from a file fit for a one-line message: in single quotes, control and non-ASCII bytes
/// as \xNN, cut after 80 bytes.
std::string printable(std::string_view text);

/// Makes a whole message fit for one line of a terminal, including texts quoted in it: control
/// characters, characters that change the direction of text or end a line, and broken UTF-8 become
/// \xNN.
std::string one_line(std::string_view message);

}  // namespace longhaul
