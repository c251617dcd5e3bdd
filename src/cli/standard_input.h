#pragma once
// Examines standard input before anything is read from it.

namespace longhaul {

/// Returns whether standard input is a pipe, or a file with unread data. Commands then read a text
/// from it even without the flag '-f -'.
bool input_is_piped();

/// Waits up to two seconds for text from a pipe. If none arrives, prints that the program is
/// waiting. Does nothing if `quiet` is true.
void wait_for_piped_text(bool quiet);

/// Warns if a pipe contains text that this command does not read.
void warn_unread_input();

}  // namespace longhaul
