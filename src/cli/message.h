#pragma once
// Reads the user's next message in a chat: a line, pasted lines, or lines between """.

#include <optional>
#include <string>

#include "base/cancel.h"

namespace longhaul {

/// Reads a message. The result is empty at the end of input, or if Ctrl-C interrupted the reading
/// of an empty line, which also sets `cancel` (see read_line()).
std::optional<std::string> read_message(CancelFlag& cancel);

}  // namespace longhaul
