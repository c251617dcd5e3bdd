#pragma once
// Checks of standard input before anything is read from it.

namespace longhaul {

/// Returns whether standard input is a pipe, or a file with unread data. It is then a text that is
/// given without '-f -'.
bool input_is_piped();

/// Reports that the program waits for text if a pipe has sent nothing for two seconds.
void wait_for_piped_text(bool quiet);

/// Warns if a pipe contains text that this command does not read.
void warn_unread_input();

}  // namespace longhaul
