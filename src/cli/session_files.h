#pragma once
// Checks and warnings for --save and --load. They run before the prefill of a long prompt.

#include <cstdint>
#include <filesystem>
#include <span>

#include "engine/session.h"

namespace longhaul {

/// Throws UserError if no file can be written at `file`, because its folder is missing or not
/// writable, or because it is itself a folder. Writes nothing.
void check_save_target(const std::filesystem::path& file);

/// Warns if a session that was loaded from `file` is of little use for `prompt`, because less than
/// half of its tokens are a prefix of the prompt. Returns whether it warned.
bool warn_other_text(const Session& session, std::span<const int32_t> prompt,
                     const std::filesystem::path& file);

/// Warns if a text is saved without its question although the method selects rows by the end of the
/// prompt. With the question, other rows would have been kept. (Methods that need an instruction
/// report this themselves.)
void warn_chosen_without_question(const Session& session, const std::filesystem::path& file);

/// Warns that nothing of the session loaded from `file` could be used, and recommends what to save
/// instead.
void warn_read_anew(const Session& session, const std::filesystem::path& file);

/// Throws UserError if the disk cannot hold `tokens` tokens at `file`. Call it before their
/// prefill. Methods that evict rows are not checked, because they write less than can be foreseen.
void check_save_space(const Session& session, int64_t tokens, const std::filesystem::path& file);

/// Saves the session. Reports on standard error what was written, unless `quiet`. `tokens` is the
/// length of the whole prompt. Fewer tokens may have been prefilled.
void save_session(const Session& session, const std::filesystem::path& file, int64_t tokens,
                  bool quiet);

}  // namespace longhaul
