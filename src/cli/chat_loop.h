#pragma once
// A conversation on the terminal. Each turn reads only what the context does not hold yet.

#include <filesystem>
#include <string>
#include <vector>

#include "cli/prompt.h"
#include "cli/turn.h"

namespace longhaul {

struct ChatOptions {
  TurnOptions turn;
  bool quiet = false;            ///< no figures of the documents and of each turn
  std::filesystem::path loaded;  ///< where the session comes from; empty: it is new
  std::string model;             ///< as -m names it
};

/// Until /quit, the end of input or Ctrl-C at a prompt where nothing is typed; Ctrl-C during a
/// reply stops the reply. The first turn takes the documents along; with a question in `prompt` it
/// starts at once. Returns the exit status.
int run_chat(Session& session, const PromptFlags& prompt, const std::vector<std::string>& documents,
             const ChatOptions& options, Interrupt& interrupt);

}  // namespace longhaul
