#pragma once
// One prompt read and answered, as `run` and its chat do it.

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
  bool stream = true;          ///< write the reply to standard output as it comes
  bool progress = true;        ///< a bar while the prompt is read
  std::filesystem::path save;  ///< the session after the prompt; empty: do not save
};

/// Cancelling is no error: the facts say how far it came.
RunFacts run_turn(Session& session, const std::vector<int32_t>& prompt, int64_t instruction,
                  const TurnOptions& options, Interrupt& interrupt);

}  // namespace longhaul
