#pragma once
// Recovers the text in a session file. With `--load FILE` and no other texts, questions refer to
// this text.

#include <string>

#include "engine/prompt.h"
#include "engine/session.h"

namespace longhaul {

struct LoadedText {
  std::string text;      ///< empty if the file holds only a question
  std::string left_out;  ///< the question with which the session was saved
};

/// Returns the text of a session that has just been loaded. The text is found by the chat template
/// that `parts` names. If the session was saved with a question, the last paragraph is returned as
/// the question. Throws UserError that names `file` if the session was saved with another template
/// or system message.
LoadedText text_of_loaded(const Session& session, const PromptParts& parts,
                          const std::string& file);

}  // namespace longhaul
