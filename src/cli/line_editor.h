#pragma once
// Lines from the user: with editing and history on a terminal, plain otherwise.

#include <optional>
#include <string>

#include "base/cancel.h"

namespace longhaul {

/// Empty at the end of input and when Ctrl-C, which sets `cancel`, interrupted the reading. On a
/// terminal `prompt` is shown, and Ctrl-C after the first key only begins the line anew.
/// Lines that are pasted into one are put into it as they are (cli/paste.h).
std::optional<std::string> read_line(const std::string& prompt, CancelFlag& cancel);

/// Whether a terminal has keys that nobody has read, now or within `milliseconds`; false where
/// standard input is no terminal.
bool input_waits(int milliseconds);

}  // namespace longhaul
