#pragma once
// What dense attention computes: the measure of what a method saves, and of a prompt's work.

#include <cstdint>
#include <span>

namespace longhaul {

/// (row, key) pairs of one query head for rows [begin, begin + rows) of a context: row t sees keys
/// 0 to t, of which only the last `window` where that is positive (ModelShape::own_window).
int64_t causal_pairs(int64_t begin, int64_t rows, int64_t window);

/// The same of a query head in every layer, summed: `windows` are the layers'.
int64_t dense_pairs(std::span<const int64_t> windows, int64_t begin, int64_t rows);

}  // namespace longhaul
