#pragma once
// Texts with their own length that exceeded the limit of the run or the model.

#include <string>

#include "report/results.h"

namespace longhaul {

/// "3 of 20 samples were cut to 4,096 tokens, reply included: the middle of their texts, 1,200 to
/// 9,876 tokens, was taken out."; empty if all were whole.
std::string cut_text(const Results& results, size_t variant);

}  // namespace longhaul
