#pragma once
// What `longhaul eval` prints when it ends.

#include <string>

#include "report/results.h"

namespace longhaul {

/// A block for each task and way of asking: its rule and source, a line for each length and method
/// with score, interval, KV, time to the first token and decoding speed; below it, what failed.
std::string eval_text(const Results& results);

}  // namespace longhaul
