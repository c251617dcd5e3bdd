#pragma once
// A conversation on the terminal. Each turn reads only the missing part of the context.

#include <filesystem>
#include <string>
#include <vector>

#include "cli/prompt_flags.h"
#include "cli/turn.h"
#include "documents/documents.h"

namespace longhaul {

struct ChatOptions {
  TurnOptions turn;
  bool quiet = false;            ///< no figures for documents and turns
  std::filesystem::path loaded;  ///< file of the session; empty: it is new
  std::string model;             ///< value of -m
  int sources = 0;               ///< passages to show after each reply
};

/// Runs until /quit, the end of input, or Ctrl-C at an empty prompt; Ctrl-C during a reply stops
/// the reply. The first turn includes the documents; with a question in `prompt` it starts at once.
/// Returns the exit status.
int run_chat(Session& session, const PromptFlags& prompt, const std::vector<Document>& documents,
             const ChatOptions& options, Interrupt& interrupt);

}  // namespace longhaul
