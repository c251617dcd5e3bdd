#pragma once
// Implements the operations of attention/methods/expectedattention/expected_attention.h on a CUDA
// device.

#include "attention/methods/expectedattention/expected_attention.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Device versions of the host operations of the same names. All addresses are device addresses.
/// Values are added in a fixed order.
bool add_query_moments(Stream stream, View<const float> q, int64_t rows, int heads, int head_dim,
                       QueryMoments& moments);
bool expected_attention(Stream stream, const ExpectedQueries& queries, const PagedRows& rows,
                        int64_t first_row, int head_begin, int head_count, View<float> scores,
                        ScoreScratch& scratch);

}  // namespace longhaul::cuda
