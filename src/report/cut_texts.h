#pragma once
// Texts of their own length that were longer than the run, or the model, allowed.

#include <string>

#include "report/results.h"

namespace longhaul {

/// "3 of 20 samples were cut to 4,096 tokens, reply included: the middle of their texts, 1,200 to
/// 9,876 tokens, was taken out."; empty where all were whole.
std::string cut_text(const Results& results, size_t variant);

}  // namespace longhaul
