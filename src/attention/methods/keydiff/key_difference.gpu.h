#pragma once
// Computes the distance of keys from the mean of their directions (key_difference.h) on a CUDA
// device.

#include "ops/attention/attention.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Returns false for pages without a list in device memory, and for head dimensions above 1,024.
bool key_difference(Stream stream, const PagedRows& rows, View<float> scores,
                    ScoreScratch& scratch);

}  // namespace longhaul::cuda
