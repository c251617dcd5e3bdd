#pragma once

#include <string>
#include <string_view>

namespace longhaul {

/// Text of a file made fit for a one-line message: in single quotes, control and non-ASCII bytes
/// as \xNN, cut after 80 bytes.
std::string printable(std::string_view text);

}  // namespace longhaul
