#pragma once
// --save and --load: what the user should hear before a long prompt is read.

#include <cstdint>
#include <filesystem>
#include <span>

#include "engine/session.h"

namespace longhaul {

/// Throws UserError when no file can be put at `file`: its folder is missing or may not be written,
/// or it is a folder itself. Writes nothing.
void check_save_target(const std::filesystem::path& file);

/// Warns when a session just loaded from `file` is of little use for `prompt`: less than half of
/// its tokens begin it. Returns whether it did.
bool warn_other_text(const Session& session, std::span<const int32_t> prompt,
                     const std::filesystem::path& file);

/// Warns where a text is saved without its question although the method chooses by the end of the
/// prompt what stays of it: with the question other rows would have stayed. (A method that needs an
/// instruction says so itself.)
void warn_chosen_without_question(const Session& session, const std::filesystem::path& file);

/// Warns that nothing of the session loaded from `file` could be used, and says what to save.
void warn_read_anew(const Session& session, const std::filesystem::path& file);

}  // namespace longhaul
