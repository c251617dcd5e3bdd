#pragma once
// Final output of `longhaul eval`.

#include <string>

#include "report/results.h"

namespace longhaul {

/// A block for each task and form: its rule and source, a line for each length and method with
/// score, interval, KV, time to the first token and decode speed; then the failures.
std::string eval_text(const Results& results);

/// A line for each method with options from the model's profile: the name of the method does not
/// show them. Empty if no method has any.
std::string profile_lines(const RunFolder& run);

}  // namespace longhaul
