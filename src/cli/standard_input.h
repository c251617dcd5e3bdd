#pragma once
// What stands at standard input, before anything is read from it.

namespace longhaul {

/// A pipe, or a file with something left to read: a text that was handed over without '-f -'.
bool input_is_piped();

/// Tells the user that the program waits for text, when a pipe has sent nothing for two seconds.
void wait_for_piped_text(bool quiet);

/// Warns where a pipe holds text that this command does not read.
void warn_unread_input();

}  // namespace longhaul
