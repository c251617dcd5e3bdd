#pragma once
// Computes the amount of work of dense attention. The work and the savings of other methods are
// expressed relative to it.

#include <cstdint>
#include <span>

namespace longhaul {

/// Returns the number of visible (row, key) pairs of one query head for rows [begin, begin + rows)
/// of a context. Row t sees keys 0 to t. If `window` is positive (ModelShape::own_window), row t
/// sees only the last `window` of them. If `chunked` is true, it sees only those of its own chunk
/// of `window` rows.
int64_t causal_pairs(int64_t begin, int64_t rows, int64_t window, bool chunked = false);

/// Returns the sum of causal_pairs() over all layers. windows[l] is the window of layer l.
int64_t dense_pairs(std::span<const int64_t> windows, int64_t begin, int64_t rows,
                    bool chunked = false);

}  // namespace longhaul
