#pragma once
// Conversion of adapter factors into the form in which they are applied.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/buffer.h"
#include "ops/matmul/low_rank.h"

namespace longhaul {

/// Combines several adapters of one matrix into one, whose rank is the sum of their ranks. A single
/// adapter is returned unchanged. Combined factors are stored in `memory`, in their common type if
/// there is one (and ranks are whole blocks of it), otherwise in f32. Without pieces the result is
/// empty.
LowRank stack_low_rank(std::vector<LowRank> pieces, std::vector<Buffer<std::byte>>& memory);

/// Returns a matrix whose row r is row source(r) of `matrix`. Its data are stored in `memory`.
TensorView reorder_rows(const TensorView& matrix, const std::function<int64_t(int64_t)>& source,
                        std::vector<Buffer<std::byte>>& memory);

}  // namespace longhaul
