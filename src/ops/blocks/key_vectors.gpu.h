#pragma once
// Stores index vectors in device memory (key_vectors.h).

#include <cstdint>

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Stores `count` values as `type`: F32, BF16, or Q4_0 (`count` is then a multiple of 32). `to` is
/// aligned to the type's values, for Q4_0 to 2 bytes. Returns false for other types.
bool store_vectors(Stream stream, const float* x, int64_t count, DType type, uint8_t* to);

}  // namespace longhaul::cuda
