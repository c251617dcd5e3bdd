#pragma once
// Checks and saves session files for --save and --load. The checks run before the prefill of a long
// prompt, so that users need not wait for an error.

#include <cstdint>
#include <filesystem>
#include <span>

#include "engine/session.h"

namespace longhaul {

/// Throws UserError if `file` cannot be written: its folder is missing or not writable, or `file`
/// is a folder. Writes nothing.
void check_save_target(const std::filesystem::path& file);

/// Warns if the session, which was loaded from `file`, is of little use for `prompt`: the prompt
/// begins with less than half of the session's tokens. Returns whether it warned.
bool warn_other_text(const Session& session, std::span<const int32_t> prompt,
                     const std::filesystem::path& file);

/// Some attention methods select the keys and values that they keep by the end of the prompt. Warns
/// if the session uses such a method and a text is saved without a question, because the kept keys
/// and values may not suit later questions. (Methods that need a question report this themselves.)
void warn_chosen_without_question(const Session& session, const std::filesystem::path& file);

/// Warns that the prompt cannot continue from any part of the session loaded from `file`, and
/// recommends what to save instead.
void warn_read_anew(const Session& session, const std::filesystem::path& file);

/// Throws UserError if the disk has too little space for a session file with `tokens` tokens. Call
/// it before the prefill. Nothing is checked for methods that evict keys and values, because the
/// size of their files is not known before.
void check_save_space(const Session& session, int64_t tokens, const std::filesystem::path& file);

/// Saves the session to `file`, and prints a line about it to standard error unless `quiet` is
/// true. `tokens` is the number of tokens of the whole prompt; if the prefill was cancelled, the
/// session has fewer.
void save_session(const Session& session, const std::filesystem::path& file, int64_t tokens,
                  bool quiet);

}  // namespace longhaul
