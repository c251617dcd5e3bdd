#pragma once
// The text in a session file. With `--load FILE` and no other texts, questions refer to it.

#include <string>

#include "engine/prompt.h"
#include "engine/session.h"

namespace longhaul {

struct LoadedText {
  std::string text;      ///< empty: the file holds a question alone
  std::string left_out;  ///< the question that it was saved with
};

/// The text of a session that has just been loaded, found by the template that `parts` names. If
/// the session was saved with a question, the last paragraph is returned as the question. Throws
/// UserError naming `file` if the session was read with another template or system message.
LoadedText text_of_loaded(const Session& session, const PromptParts& parts,
                          const std::string& file);

}  // namespace longhaul
