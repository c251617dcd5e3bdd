#pragma once
// mean_keys() of ops/maps/mean_keys.h and key_difference() of ops/maps/key_difference.h on a CUDA
// device.

#include "ops/attention/attention.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Writes the means to out [blocks, head_dim]. Returns false if the list of pages is not in device
/// memory.
bool mean_keys(Stream stream, const PagedRows& rows, int64_t count, int block, View<float> out);

/// Returns false if the list of pages is not in device memory, or if the head dimension exceeds
/// 1,024.
bool key_difference(Stream stream, const PagedRows& rows, View<float> scores,
                    ScoreScratch& scratch);

}  // namespace longhaul::cuda
