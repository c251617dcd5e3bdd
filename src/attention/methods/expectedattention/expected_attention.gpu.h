#pragma once
// Implements the operations of attention/methods/expectedattention/expected_attention.h on a CUDA
// device.

#include "attention/methods/expectedattention/expected_attention.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Device versions of the operations with the same names. All addresses are device addresses. Sums
/// are computed in a fixed order, so results are reproducible. Both functions return false if they
/// do not support the arguments.
bool add_query_moments(Stream stream, View<const float> q, int64_t rows, int heads, int head_dim,
                       QueryMoments& moments);
bool expected_attention(Stream stream, const ExpectedQueries& queries, const PagedRows& rows,
                        int64_t first_row, int head_begin, int head_count, View<float> scores,
                        ScoreScratch& scratch);

}  // namespace longhaul::cuda
