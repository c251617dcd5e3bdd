#pragma once
// Choosing keys by score on the host.

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// The k highest scores (all, when there are fewer), as ascending indices. Of equal scores the
/// lower index wins; NaN counts as minus infinity. On views: ops/select_rows.h.
std::vector<int32_t> top_indices(std::span<const float> scores, int64_t k);

}  // namespace longhaul
