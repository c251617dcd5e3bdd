#pragma once
// The text in a session file: what `--load FILE` without any text is asked about.

#include <string>

#include "cli/prompt.h"
#include "engine/session.h"

namespace longhaul {

struct LoadedText {
  std::string text;      ///< empty: the file holds a question alone
  std::string left_out;  ///< the question that it was saved with
};

/// Of a session that has just been loaded, read through the template that `flags` names. Where it
/// was saved behind a question, its last paragraph is taken for that. Throws UserError, naming
/// `file`, when it was read with another template or system message.
LoadedText text_of_loaded(const Session& session, const PromptFlags& flags,
                          const std::string& file);

}  // namespace longhaul
