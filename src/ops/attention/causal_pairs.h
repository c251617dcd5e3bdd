#pragma once
// Counts the query-key pairs of dense attention. The work and the savings of other methods are
// expressed relative to this count.

#include <cstdint>
#include <span>

namespace longhaul {

/// Returns the number of visible (row, key) pairs of one query head, for the query rows of tokens
/// [begin, begin + rows). Row t sees keys 0 to t. If `window` (ModelShape::own_window) is positive,
/// row t sees only the last `window` of these keys. If `chunked` is also true, it sees only the
/// keys in its own chunk of `window` tokens.
int64_t causal_pairs(int64_t begin, int64_t rows, int64_t window, bool chunked = false);

/// Returns the sum of causal_pairs() over all layers, where windows[l] is the window of layer l.
int64_t dense_pairs(std::span<const int64_t> windows, int64_t begin, int64_t rows,
                    bool chunked = false);

}  // namespace longhaul
