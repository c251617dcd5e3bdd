#pragma once
// Prevents control characters in replies, files and file names from controlling the terminal.

#include <cstdio>
#include <string_view>

namespace longhaul {

/// Filters `stdout` and `stderr` from now on if they are terminals. Control characters are shown as
/// U+FFFD (text/terminal_text.h). Output to pipes and files is unchanged.
void guard_terminals();

/// Returns the unfiltered standard output. The line editor uses it to move the cursor.
std::FILE* unguarded_output();

/// Writes an escape sequence to standard error without filtering it.
void control_terminal(std::string_view sequence);

}  // namespace longhaul
