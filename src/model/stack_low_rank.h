#pragma once
// Factors of adapters brought into the form in which they are applied.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/buffer.h"
#include "ops/low_rank.h"

namespace longhaul {

/// Several adapters of one matrix as one: its rank is the sum of theirs. One alone stays as it is;
/// the factors of several go to `memory`, in their own type where it is the same for all (and ranks
/// are whole blocks of it), else in f32. None: empty.
LowRank stack_low_rank(std::vector<LowRank> pieces, std::vector<Buffer<std::byte>>& memory);

/// Row r of the result, which goes to `memory`, is row source(r) of the matrix.
TensorView reorder_rows(const TensorView& matrix, const std::function<int64_t(int64_t)>& source,
                        std::vector<Buffer<std::byte>>& memory);

}  // namespace longhaul
