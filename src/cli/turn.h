#pragma once
// Prefills one prompt and generates the reply, for `run` and its chat.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/run_report.h"
#include "engine/generate.h"

namespace longhaul {

struct TurnOptions {
  GenerateOptions generate;
  bool stream = true;          ///< write the reply to standard output while it is generated
  bool progress = true;        ///< show a bar during prefill
  std::filesystem::path save;  ///< save the session after prefill to this file; empty: do not save
};

/// Cancelling is not an error: the result tells how far it got.
RunFacts run_turn(Session& session, const std::vector<int32_t>& prompt, int64_t instruction,
                  const TurnOptions& options, Interrupt& interrupt);

}  // namespace longhaul
