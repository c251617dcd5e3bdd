#pragma once
// Input lines from the user: with editing and history on a terminal, plain otherwise.

#include <optional>
#include <string>

#include "base/cancel.h"

namespace longhaul {

/// Empty at the end of input, and when Ctrl-C, which sets `cancel`, interrupted the reading. On a
/// terminal `prompt` is shown, and Ctrl-C after the first key only restarts the line. Pasted lines
/// are inserted unchanged (cli/paste.h).
std::optional<std::string> read_line(const std::string& prompt, CancelFlag& cancel);

/// Whether a terminal has unread keys, now or within `milliseconds`; false if standard input is not
/// a terminal.
bool input_waits(int milliseconds);

}  // namespace longhaul
