#pragma once
// Means of stored keys, and how far keys are from the mean of their directions: mean_keys() of
// ops/maps/mean_keys.h and key_difference() of ops/maps/key_difference.h on a CUDA device.

#include "ops/attention/attention.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// out [blocks, head_dim]. False for pages without a list in device memory.
bool mean_keys(Stream stream, const PagedRows& rows, int64_t count, int block, View<float> out);

/// The same; head dimensions up to 1,024.
bool key_difference(Stream stream, const PagedRows& rows, View<float> scores,
                    ScoreScratch& scratch);

}  // namespace longhaul::cuda
