#pragma once
// Finds how many of the best scores hold a share of the total (FlexPrefill, arXiv:2502.20766;
// XAttention, arXiv:2503.16428).

#include <cstdint>
#include <span>

namespace longhaul {

/// Takes scores (none below zero; NaN counts as 0) from the highest down, as long as their sum is
/// at most `mass`. Returns the number taken. `scores` [n] is host memory and is reordered. Time is
/// linear in n.
int64_t count_within_mass(std::span<float> scores, double mass);

}  // namespace longhaul
