#pragma once
// Formats the final output of `longhaul eval`.

#include <string>

#include "report/results.h"

namespace longhaul {

/// Returns a block of lines for each task variant (with or without opening words). A block begins
/// with the scoring rule and the source of the task. Then it has a line for each length and method,
/// with score, interval, size of keys and values, time to the first token and decode speed. After
/// all blocks come lines about the sources of replies, and a legend of shortened method names.
std::string eval_text(const Results& results);

/// Returns a line for each method that uses options of the model's profile. It shows these options,
/// because the name of the method does not contain them.
std::string profile_lines(const RunFolder& run);

}  // namespace longhaul
