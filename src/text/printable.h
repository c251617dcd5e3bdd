#pragma once

#include <string>
#include <string_view>

namespace longhaul {

/// Makes text from a file fit for a one-line message: in single quotes, control and non-ASCII bytes
/// as \xNN, cut after 80 bytes.
std::string printable(std::string_view text);

/// A whole message made fit for one line of a terminal, whatever the texts are that it quotes:
/// control characters, those that change the direction of text or end its line, and broken UTF-8
/// as \xNN, the rest as it is.
std::string one_line(std::string_view message);

}  // namespace longhaul
