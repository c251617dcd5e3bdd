#pragma once
// The command line of this process, for messages that name a command to run next.

#include <span>
#include <string>
#include <vector>

namespace longhaul {

/// Stores the command line. Call it once, at the beginning of main().
void remember_command(std::span<const char* const> arguments);

/// Returns the stored command line. Its first word is the program as it was called.
const std::vector<std::string>& own_command();

/// Returns the command line with `more` arguments at its end, quoted for a shell. The last value of
/// a repeated flag counts.
std::string command_with(const std::vector<std::string>& more);

/// Returns the words, quoted for a shell.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace longhaul
