#pragma once
// The text in a session file, which `--load FILE` without a text refers to.

#include <string>

#include "cli/prompt.h"
#include "engine/session.h"

namespace longhaul {

struct LoadedText {
  std::string text;      ///< empty: the file contains only a question
  std::string left_out;  ///< question with which it was saved
};

/// The text of a newly loaded session, extracted with the template that `flags` selects. If it was
/// saved after a question, its last paragraph is treated as the question. Throws UserError with
/// `file` if it was read with another template or system message.
LoadedText text_of_loaded(const Session& session, const PromptFlags& flags,
                          const std::string& file);

}  // namespace longhaul
