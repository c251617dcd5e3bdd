#pragma once
// Implements mean_keys() of mean_keys.h on a CUDA device.

#include "ops/attention/attention.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Writes the means to out [blocks, head_dim]. Returns false if the list of pages is not in device
/// memory.
bool mean_keys(Stream stream, const PagedRows& rows, int64_t count, int block, View<float> out);

}  // namespace longhaul::cuda
