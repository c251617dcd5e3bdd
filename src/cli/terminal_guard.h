#pragma once
// Nothing that a model, a file or its name says reaches a terminal as a command.

#include <cstdio>
#include <string_view>

namespace longhaul {

/// From now on `stdout` and `stderr`, each where it is a terminal, show control characters as
/// U+FFFD (text/terminal_text.h). Into pipes and files everything goes as it is.
void guard_terminals();

/// Standard output as it was: for the line editor, which moves the cursor.
std::FILE* unguarded_output();

/// Escape sequences of our own, to standard error.
void control_terminal(std::string_view sequence);

}  // namespace longhaul
