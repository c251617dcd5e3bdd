#pragma once
// --save and --load: checks and warnings before a long prompt is read.

#include <cstdint>
#include <filesystem>
#include <span>

#include "engine/session.h"

namespace longhaul {

/// Throws UserError if no file can be written at `file`: its folder is missing or not writable, or
/// it is a folder itself. Writes nothing.
void check_save_target(const std::filesystem::path& file);

/// Warns if a session just loaded from `file` is of little use for `prompt`: less than half of its
/// tokens are the prompt's beginning. Returns whether it warned.
bool warn_other_text(const Session& session, std::span<const int32_t> prompt,
                     const std::filesystem::path& file);

/// Warns if a text is saved without its question although the method selects rows by the end of the
/// prompt: with the question other rows would have been kept. (Methods that need an instruction
/// report this themselves.)
void warn_chosen_without_question(const Session& session, const std::filesystem::path& file);

/// Warns that nothing of the session loaded from `file` could be used, and recommends what to save.
void warn_read_anew(const Session& session, const std::filesystem::path& file);

/// Throws UserError, before `tokens` tokens are read, if the disk cannot hold them at `file`.
/// Methods that evict rows write less than can be foreseen; they are not checked.
void check_save_space(const Session& session, int64_t tokens, const std::filesystem::path& file);

/// Saves the session and says on standard error what was written, unless `quiet`. `tokens` are
/// those of the whole prompt: fewer may have been read.
void save_session(const Session& session, const std::filesystem::path& file, int64_t tokens,
                  bool quiet);

}  // namespace longhaul
