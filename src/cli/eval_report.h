#pragma once
// What `longhaul eval` prints when it ends.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/results.h"

namespace longhaul {

/// A block for each task and way of asking: its rule and source, a line for each length and method
/// with score, interval, KV, time to the first token and decoding speed; below it, what failed.
std::string eval_text(const Results& results);
nlohmann::ordered_json eval_json(const Results& results);

}  // namespace longhaul
