#pragma once
// Stores vectors of an index in device memory (key_vectors.h).

#include <cstdint>

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Converts `count` values to `type` and stores them. The type is F32, BF16 or Q4_0. For Q4_0,
/// `count` is a multiple of 32, and `to` is aligned to 2 bytes. For other types, `to` is aligned to
/// the size of an element. Returns false if the type is not supported.
bool store_vectors(Stream stream, const float* x, int64_t count, DType type, uint8_t* to);

}  // namespace longhaul::cuda
