#pragma once
// Implements block_rows() of block_rows.h on a CUDA device. All addresses are device addresses.

#include <cstdint>

#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Writes first + count * block row numbers: 0 to first - 1, then the rows of each block.
void block_rows(Stream stream, int64_t first, const int32_t* blocks, int64_t count, int64_t block,
                int64_t begin, int32_t* rows);

}  // namespace longhaul::cuda
