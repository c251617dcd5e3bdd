#pragma once
// Converts factors of adapters to the form in which they are applied.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/buffer.h"
#include "ops/matmul/low_rank.h"

namespace longhaul {

/// Combines several adapters of one matrix into one adapter, whose rank is the sum of their ranks.
/// A single adapter is returned unchanged. If there are no adapters, the result is empty. Combined
/// factors are stored in `memory`. Their type is the common type of the factors if there is one and
/// all ranks are whole blocks of it, and otherwise f32.
LowRank stack_low_rank(std::vector<LowRank> pieces, std::vector<Buffer<std::byte>>& memory);

/// Returns a matrix whose row r is row source(r) of `matrix`. The data are stored in `memory`.
TensorView reorder_rows(const TensorView& matrix, const std::function<int64_t(int64_t)>& source,
                        std::vector<Buffer<std::byte>>& memory);

}  // namespace longhaul
