#pragma once
// Describes how many samples of a task were cut, because they were longer than the limit of the run
// or of the model.

#include <string>

#include "report/results.h"

namespace longhaul {

/// `variant` is the index of a task in Results::variants(). Returns a sentence such as "3 of 20
/// samples were cut to 4,096 tokens, reply included: the middle of their texts, 1,200 to 9,876
/// tokens, was taken out.", or an empty string if no text was cut.
std::string cut_text(const Results& results, size_t variant);

}  // namespace longhaul
