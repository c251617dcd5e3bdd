#pragma once
// Rows of weights in another order than the file's.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/tensor_view.h"

namespace longhaul {

/// order[r]: the row of the file that becomes row r.
using RowOrder = std::vector<int64_t>;

/// The order in which rotary pairs of every head that are neighbours in the file, (2t, 2t + 1), lie
/// half of rotary_dim apart, as RoPE takes them here; rows past rotary_dim stay.
RowOrder halves_from_pairs(int64_t rows, int head_dim, int rotary_dim);

/// The rows [order.size(), cols] in that order, packed.
std::vector<std::byte> reordered(const TensorView& rows, const RowOrder& order);

}  // namespace longhaul
