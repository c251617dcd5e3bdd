#pragma once
// Implements key_difference() of attention/methods/keydiff/key_difference.h on a CUDA device.

#include "ops/attention/attention.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Writes the scores of the stored rows. Returns false if the addresses of their pages are not in
/// device memory (PagedRows::listed), or if head_dim exceeds 1,024.
bool key_difference(Stream stream, const PagedRows& rows, View<float> scores,
                    ScoreScratch& scratch);

}  // namespace longhaul::cuda
