#pragma once
// Prevents text from models, files or their names from acting as terminal commands.

#include <cstdio>
#include <string_view>

namespace longhaul {

/// From now on `stdout` and `stderr`, if they are terminals, show control characters as U+FFFD
/// (text/terminal_text.h). Output to pipes and files is unchanged.
void guard_terminals();

/// The unfiltered standard output, for the line editor, which moves the cursor.
std::FILE* unguarded_output();

/// Sends this program's escape sequences to standard error.
void control_terminal(std::string_view sequence);

}  // namespace longhaul
