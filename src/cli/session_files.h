#pragma once
// Checks and saves session files for --save and --load. The checks run before the prefill of a long
// prompt, so that users need not wait for an error.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/prompt_flags.h"
#include "engine/loaded_text.h"
#include "engine/session.h"
#include "engine/session_about.h"

namespace longhaul {

/// Throws UserError if `file` cannot be written: its folder is missing or not writable, or `file`
/// is a folder. Writes nothing.
void check_save_target(const std::filesystem::path& file);

/// Warns if the session, which was loaded from `file`, is of little use for `prompt`: the prompt
/// begins with less than half of the session's tokens. Returns whether it warned.
bool warn_other_text(const Sequence& session, std::span<const int32_t> prompt,
                     const std::filesystem::path& file);

/// Some attention methods select the keys and values that they keep by the end of the prompt. Warns
/// if the session uses such a method and a text is saved without a question, because the kept keys
/// and values may not suit later questions. (Methods that need a question report this themselves.)
void warn_chosen_without_question(const Session& session, const std::filesystem::path& file);

/// Warns that the prompt cannot continue from any part of the session loaded from `file`, and
/// recommends what to save instead.
void warn_read_anew(const Sequence& session, const std::filesystem::path& file);

/// A sequence that was loaded from a file, and the file's text.
struct LoadedSession {
  SessionAbout about;
  std::vector<Document> documents;  ///< the texts of the file, if the question is about them
  std::string question;             ///< question with which the file was saved
};

/// Loads `file` into `sequence`. If `prompt` names no texts, also recovers the file's text, and
/// warns if the file holds only a part of it. Throws UserError as Sequence::load() does.
LoadedSession load_session(const std::string& file, const PromptFlags& prompt, Sequence& sequence);

/// Returns the facts for a new session file about `documents`. `loaded` are the facts of the file
/// that the prompt continues.
SessionAbout about_to_save(const std::string& model, const PromptFlags& prompt,
                           const std::vector<Document>& documents, const SessionAbout& loaded);

/// Throws UserError if the disk has too little space for a session file with `tokens` tokens. Call
/// it before the prefill. Nothing is checked for methods that evict keys and values, because the
/// size of their files is not known before.
void check_save_space(const Session& session, int64_t tokens, const std::filesystem::path& file);

/// Saves the session with the facts `about`. Reports on standard error what was written, unless
/// `quiet`. `tokens` is the length of the whole prompt. If fewer tokens have been prefilled, the
/// file is marked as incomplete, and the report contains the command that goes on.
void save_session(const Session& session, const std::filesystem::path& file, int64_t tokens,
                  SessionAbout about, bool quiet);

}  // namespace longhaul
