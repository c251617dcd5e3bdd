#pragma once
// Recovers the text of a user's first message from a session file (`--load FILE`), so that further
// questions can refer to it.

#include <string>

#include "engine/prompt.h"
#include "engine/sequence.h"

namespace longhaul {

struct LoadedText {
  std::string text;      ///< text of the message without the question; may be empty
  std::string left_out;  ///< the question that ended the message; empty if there was none
};

/// Returns the text of a session that has just been loaded. The function removes the chat template
/// and system message of `parts` from the decoded tokens. If the message was complete when the
/// session was saved, its last paragraph is returned as the question. Throws a UserError that names
/// `file` if the session was saved with another template or system message.
LoadedText text_of_loaded(const Sequence& session, const PromptParts& parts,
                          const std::string& file);

}  // namespace longhaul
