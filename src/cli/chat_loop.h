#pragma once
// A conversation on the terminal. In each turn, only the tokens that are not in the session yet are
// prefilled.

#include <filesystem>
#include <string>
#include <vector>

#include "cli/prompt_flags.h"
#include "cli/turn.h"
#include "documents/documents.h"

namespace longhaul {

struct ChatOptions {
  TurnOptions turn;
  bool quiet = false;  ///< whether no figures are printed for documents and turns
  /// File from which the session was loaded; empty: the session is new.
  std::filesystem::path loaded;
  std::string model;  ///< value of -m
  int sources = 0;    ///< number of passages to show after each reply
};

/// Runs a conversation until /quit, the end of input, or Ctrl-C at an empty prompt. Ctrl-C during a
/// reply stops the reply. The first turn includes the documents. If `prompt` has a question, the
/// first turn starts at once. Returns the exit status.
int run_chat(Session& session, const PromptFlags& prompt, const std::vector<Document>& documents,
             const ChatOptions& options, Interrupt& interrupt);

}  // namespace longhaul
