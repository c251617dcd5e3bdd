#pragma once
// Work of dense attention. The savings of a method and the work for a prompt are measured against
// it.

#include <cstdint>
#include <span>

namespace longhaul {

/// Returns the number of (row, key) pairs of one query head for rows [begin, begin + rows) of a
/// context. Row t sees keys 0 to t, or only the last `window` of them if that is positive
/// (ModelShape::own_window).
int64_t causal_pairs(int64_t begin, int64_t rows, int64_t window);

/// Returns the sum of causal_pairs() of a query head over all layers. `windows` has the window of
/// each layer.
int64_t dense_pairs(std::span<const int64_t> windows, int64_t begin, int64_t rows);

}  // namespace longhaul
