#pragma once
// Determines how many of the best scores hold a given share of the sum of all scores (FlexPrefill,
// arXiv:2502.20766; XAttention, arXiv:2503.16428).

#include <cstdint>
#include <span>

namespace longhaul {

/// Adds scores in descending order as long as their sum is at most `mass`, and returns how many
/// were added. Scores must not be negative, and NaN counts as 0. `scores` [n] is in host memory and
/// is reordered. The time is linear in n.
int64_t count_within_mass(std::span<float> scores, double mass);

}  // namespace longhaul
