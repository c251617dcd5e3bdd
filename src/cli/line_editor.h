#pragma once
// Reads lines from the user. On a terminal, lines can be edited and there is a history.

#include <optional>
#include <string>

#include "base/cancel.h"

namespace longhaul {

/// Reads a line. Returns nothing at the end of input or after Ctrl-C. Ctrl-C also sets `cancel`. On
/// a terminal, shows `prompt`. If the line on the terminal is not empty, Ctrl-C only clears this
/// line, and reading continues. Pasted lines are part of the result, unchanged (cli/paste.h).
std::optional<std::string> read_line(const std::string& prompt, CancelFlag& cancel);

/// Waits at most `milliseconds` for input. Returns whether standard input is a terminal on which
/// keys have been pressed that have not been read.
bool input_waits(int milliseconds);

}  // namespace longhaul
