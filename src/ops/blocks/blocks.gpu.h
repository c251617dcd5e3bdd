#pragma once
// Launchers of this folder's operations on a CUDA device. All addresses are device addresses.

#include <cstdint>

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Writes first + count * block row numbers to `rows`: 0 to first - 1, followed by the rows of each
/// of the `count` blocks (block_rows.h).
void block_rows(Stream stream, int64_t first, const int32_t* blocks, int64_t count, int64_t block,
                int64_t begin, int32_t* rows);

/// Converts `count` numbers to `type` and stores them (key_vectors.h). `type` is F32, BF16 or Q4_0.
/// For Q4_0, `count` must be a multiple of 32, and `to` must be aligned to 2 bytes. For other
/// types, `to` must be aligned to the size of an element. Returns false if the type is not
/// supported.
bool store_vectors(Stream stream, const float* x, int64_t count, DType type, uint8_t* to);

}  // namespace longhaul::cuda
