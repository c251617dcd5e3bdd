#pragma once

#include <string>
#include <string_view>

namespace longhaul {

/// Converts text from a file so that it can be quoted in a one-line message. The text is put in
/// single quotes, control and non-ASCII bytes become \xNN, and the text is cut after 80 bytes.
std::string printable(std::string_view text);

/// Converts a whole message, including texts quoted in it, to one line for a terminal. Control
/// characters, characters that change the direction of text or end a line, and invalid UTF-8 become
/// \xNN.
std::string one_line(std::string_view message);

}  // namespace longhaul
