#pragma once
// Implements key_difference() of key_difference.h on a CUDA device.

#include "ops/attention/attention.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Writes the scores of the rows. Returns false if the list of pages is not in device memory, or if
/// the head dimension exceeds 1,024.
bool key_difference(Stream stream, const PagedRows& rows, View<float> scores,
                    ScoreScratch& scratch);

}  // namespace longhaul::cuda
