#pragma once
// Converts the matrices A and B of LoRA adapters to the form in which they are applied.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/buffer.h"
#include "ops/matmul/low_rank.h"

namespace longhaul {

/// Combines several LoRA adapters of one weight matrix into one adapter, whose rank is the sum of
/// their ranks. A single adapter is returned unchanged. If there are no adapters, the result is
/// empty. The combined matrices are stored in `memory`. The combined A has the type of the single
/// matrices A if these have equal types, and f32 otherwise. B gets its type by this rule too.
LowRank stack_low_rank(std::vector<LowRank> pieces, std::vector<Buffer<std::byte>>& memory);

/// Returns a copy of `matrix` in which row r is row source(r) of `matrix`. The copy is stored in
/// `memory`.
TensorView reorder_rows(const TensorView& matrix, const std::function<int64_t(int64_t)>& source,
                        std::vector<Buffer<std::byte>>& memory);

}  // namespace longhaul
