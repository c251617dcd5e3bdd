#pragma once
// Final output of `longhaul eval`.

#include <string>

#include "report/results.h"

namespace longhaul {

/// A block for each task and form: its rule and source, a line for each length and method with
/// score, interval, KV, time to the first token and decode speed; then the failures.
std::string eval_text(const Results& results);

}  // namespace longhaul
