#pragma once
// The user's next message in a chat: a line, pasted lines, or lines between """.

#include <optional>
#include <string>

#include "base/cancel.h"

namespace longhaul {

/// Empty at the end of input, and when Ctrl-C, which sets `cancel`, interrupted the reading of an
/// empty line; see read_line().
std::optional<std::string> read_message(CancelFlag& cancel);

}  // namespace longhaul
