#pragma once
// Rows of weights in an order that differs from the file's.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/tensor_view.h"

namespace longhaul {

/// order[r] is the row of the file that becomes row r. It may leave out rows.
using RowOrder = std::vector<int64_t>;

/// Returns the order that RoPE expects here. Rows of a rotary pair are adjacent in the file, rows 2
/// * t and 2 * t + 1 of a head. The order places them rotary_dim / 2 apart. Rows past rotary_dim do
/// not move.
RowOrder halves_from_pairs(int64_t rows, int head_dim, int rotary_dim);

/// Copies rows [order.size(), cols] in that order, without gaps.
std::vector<std::byte> reordered(const TensorView& rows, const RowOrder& order);

}  // namespace longhaul
