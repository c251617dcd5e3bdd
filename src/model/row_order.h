#pragma once
// Changes the order of the rows of a weight matrix.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/tensor_view.h"

namespace longhaul {

/// order[r] is the index in the file of the row that becomes row r. Rows of the file may be
/// omitted.
using RowOrder = std::vector<int64_t>;

/// Returns an order for the rows of Q or K. In the file, the two rows of a head that RoPE rotates
/// as a pair are adjacent (2 * t and 2 * t + 1). In the returned order they are rotary_dim / 2 rows
/// apart, as the RoPE code requires. Rows of a head from rotary_dim on do not move.
RowOrder halves_from_pairs(int64_t rows, int head_dim, int rotary_dim);

/// Returns a copy of `rows` in the order `order`, [order.size(), cols] without gaps.
std::vector<std::byte> reordered(const TensorView& rows, const RowOrder& order);

}  // namespace longhaul
