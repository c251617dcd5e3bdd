#pragma once
// How many of the best scores hold a share of the mass (FlexPrefill,
// arXiv:2502.20766; XAttention, arXiv:2503.16428).

#include <cstdint>
#include <vector>

namespace longhaul {

/// The scores [n], none below zero, in descending order: how many of them have a sum, up to and
/// including themselves, of at most `mass`. `scores` is reordered. Time grows with n, not n log n.
int64_t count_within_mass(std::vector<float>& scores, double mass);

}  // namespace longhaul
