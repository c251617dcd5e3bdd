#pragma once
// Formats the final output of `longhaul eval`.

#include <string>

#include "report/results.h"

namespace longhaul {

/// Returns a block of lines for each task, with and without opening words. A block has the scoring
/// rule and the source, and a line for each length and method with score, interval, KV size, time
/// to the first token and decode speed. The failures follow.
std::string eval_text(const Results& results);

/// Returns a line for each method that uses options of the model's profile, because the name of the
/// method does not show them. The result is empty if no method does.
std::string profile_lines(const RunFolder& run);

}  // namespace longhaul
