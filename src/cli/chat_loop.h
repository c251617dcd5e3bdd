#pragma once
// Runs a conversation on the terminal. In each turn, only the tokens that are not in the session
// yet are prefilled.

#include <filesystem>
#include <string>
#include <vector>

#include "cli/prompt_flags.h"
#include "cli/turn.h"
#include "documents/documents.h"

namespace longhaul {

struct ChatOptions {
  TurnOptions turn;
  bool quiet = false;  ///< whether to print no statistics of documents and turns
  /// File from which the session was loaded; empty: the session is new.
  std::filesystem::path loaded;
  std::string model;  ///< value of -m
  int sources = 0;    ///< number of passages to show after each reply
};

/// Runs a conversation until the user enters /quit, the input ends, or the user presses Ctrl-C
/// while the input line is empty. Ctrl-C during a reply stops the reply. The first message includes
/// the documents. If `prompt` has a question, it is the first message. Returns the exit status.
int run_chat(Session& session, const PromptFlags& prompt, const std::vector<Document>& documents,
             const ChatOptions& options, Interrupt& interrupt);

}  // namespace longhaul
