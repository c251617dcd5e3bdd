#pragma once
// Small operations on scores and rows in device memory. They compute the same as the host
// operations in ops/core/mean_rows.h, ops/choose/pool_scores.h,
// attention/methods/roco/steady_scores.h, ops/attention/sliding_rows.h and ops/maps/mean_keys.h.
// Values are added in a fixed order.

#include <cstdint>
#include <span>

#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Writes the mean of x [rows, width] over its rows to out [width].
void mean_rows(Stream stream, const float* x, int64_t rows, int64_t width, float* out);
/// Writes the mean of rows [begin, end) of query head `head` to out [head_dim]. q is [rows, heads,
/// head_dim].
void mean_query(Stream stream, const float* q, int heads, int head_dim, int head, int64_t begin,
                int64_t end, float* out);
/// Writes the average of the `width` scores around i to out[i], or their maximum if `largest` is
/// true. For averages, scores beyond the ends count as zeros.
void pool_scores(Stream stream, const float* scores, int64_t count, int width, bool largest,
                 float* out);
/// Adds the transpose of x [rows, columns] to `to` [columns, rows].
void add_transposed(Stream stream, const float* x, int64_t rows, int64_t columns, float* to);
/// Writes the dot product of `query` and means[b], times `scale`, to scores[b].
void mean_scores(Stream stream, const float* query, const float* means, int64_t blocks,
                 int head_dim, float scale, float* scores);
/// Replaces the scores by their softmax.
void softmax_of(Stream stream, float* scores, int64_t count);

}  // namespace longhaul::cuda
