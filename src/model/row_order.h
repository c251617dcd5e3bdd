#pragma once
// Changes the order of the rows of a weight matrix.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/tensor_view.h"

namespace longhaul {

/// order[r] is the row of the file that becomes row r. An order may leave out rows of the file.
using RowOrder = std::vector<int64_t>;

/// Returns the row order that RoPE requires for Q and K. In the file, the two rows of a rotary pair
/// are adjacent: rows 2 * t and 2 * t + 1 of a head. In the returned order, they are rotary_dim / 2
/// rows apart. Rows of a head from rotary_dim on do not move.
RowOrder halves_from_pairs(int64_t rows, int head_dim, int rotary_dim);

/// Returns a copy of the rows [order.size(), cols] in the given order, without gaps.
std::vector<std::byte> reordered(const TensorView& rows, const RowOrder& order);

}  // namespace longhaul
