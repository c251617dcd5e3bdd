#pragma once
// Prefills one prompt and generates the reply, for `longhaul run` and its chat.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/run_report.h"
#include "engine/generate.h"
#include "engine/session_about.h"

namespace longhaul {

struct TurnOptions {
  GenerateOptions generate;
  bool stream = true;    ///< whether the reply is written to standard output while it is generated
  bool progress = true;  ///< whether a progress bar is shown during prefill
  /// File to which the session is saved after prefill; empty: it is not saved.
  std::filesystem::path save;
  SessionAbout about;  ///< facts for this file
};

/// Runs one turn. `instruction` is the number of tokens at the end of the prompt that belong to the
/// question. If the user cancels the turn, the result describes the completed part.
RunFacts run_turn(Session& session, const std::vector<int32_t>& prompt, int64_t instruction,
                  const TurnOptions& options, Interrupt& interrupt);

}  // namespace longhaul
