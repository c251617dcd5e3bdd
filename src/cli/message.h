#pragma once
// Reads the user's next message in a chat. A message is one line, several pasted lines, or several
// lines between two lines with """.

#include <optional>
#include <string>

#include "base/cancel.h"

namespace longhaul {

/// Reads a message. Returns nothing at the end of input, or if the user presses Ctrl-C while the
/// line is empty. Ctrl-C then also sets `cancel` (read_line()).
std::optional<std::string> read_message(CancelFlag& cancel);

}  // namespace longhaul
