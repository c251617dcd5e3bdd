#pragma once
// Reads lines from the user. On a terminal, lines can be edited and there is a history.

#include <optional>
#include <string>

#include "base/cancel.h"

namespace longhaul {

/// Reads a line. The result is empty at the end of input, or if Ctrl-C interrupted the reading,
/// which also sets `cancel`. On a terminal, `prompt` is shown, and Ctrl-C after the first key only
/// restarts the line. Pasted lines are inserted unchanged (cli/paste.h).
std::optional<std::string> read_line(const std::string& prompt, CancelFlag& cancel);

/// Returns whether a terminal has unread keys, now or within `milliseconds`. Returns false if
/// standard input is not a terminal.
bool input_waits(int milliseconds);

}  // namespace longhaul
