#pragma once
// How many of the best scores hold a share of the mass (FlexPrefill,
// arXiv:2502.20766; XAttention, arXiv:2503.16428).

#include <cstdint>
#include <span>

namespace longhaul {

/// The scores [n], none below zero, in descending order: how many of them have a sum, up to and
/// including themselves, of at most `mass`. NaN counts as 0. `scores` is host memory and is
/// reordered. Time grows with n, not n log n.
int64_t count_within_mass(std::span<float> scores, double mass);

}  // namespace longhaul
