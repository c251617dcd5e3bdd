#pragma once
// Small operations on arrays of scores and on rows in device memory. They compute the same as the
// host operations in ops/core/mean_rows.h, ops/choose/pool_scores.h,
// attention/methods/roco/steady_scores.h, ops/attention/sliding_rows.h and ops/maps/mean_keys.h.
// Numbers are added in a fixed order.

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
/// Sets out[i] to the average of scores i - width / 2 to i + width / 2, or to their maximum if
/// `largest` is true. `width` is odd. Positions beyond the ends count as zeros in averages and are
/// ignored in maxima.
void pool_scores(Stream stream, const float* scores, int64_t count, int width, bool largest,
                 float* out);
/// Adds the transpose of x [rows, columns] to `to` [columns, rows], element by element.
void add_transposed(Stream stream, const float* x, int64_t rows, int64_t columns, float* to);
/// Sets scores[b] to the dot product of `query` and means[b], times `scale`, for each block b of
/// keys.
void mean_scores(Stream stream, const float* query, const float* means, int64_t blocks,
                 int head_dim, float scale, float* scores);
/// Replaces scores [count] by their softmax.
void softmax_of(Stream stream, float* scores, int64_t count);

}  // namespace longhaul::cuda
