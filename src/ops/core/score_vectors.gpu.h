#pragma once
// Small operations on scores and rows in device memory, as defined in ops/core/mean_rows.h,
// ops/choose/pool_scores.h, ops/choose/steady_scores.h, ops/attention/sliding_rows.h and
// ops/maps/mean_keys.h. Sums have a fixed order.

#include <cstdint>
#include <span>

#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Writes the mean of x [rows, width] over the rows to out [width].
void mean_rows(Stream stream, const float* x, int64_t rows, int64_t width, float* out);
/// Writes the mean of query head `head` over rows [begin, end) of q [rows, heads, head_dim] to out
/// [head_dim].
void mean_query(Stream stream, const float* q, int heads, int head_dim, int head, int64_t begin,
                int64_t end, float* out);
/// Writes the average or the maximum of `width` scores around i to out[i]. For averages, scores
/// past the ends count as zeros.
void pool_scores(Stream stream, const float* scores, int64_t count, int width, bool largest,
                 float* out);
struct SeenColumn {
  float* numbers;
  int64_t count;
};
/// For every column, adds to numbers[i] how many of the last `rows` rows see row i of `count` rows.
void add_seen(Stream stream, int64_t rows, std::span<const SeenColumn> columns);
/// Adds the transpose of x [rows, columns] to `to` [columns, rows].
void add_transposed(Stream stream, const float* x, int64_t rows, int64_t columns, float* to);
/// Computes scores[b] = scale * query . means[b].
void mean_scores(Stream stream, const float* query, const float* means, int64_t blocks,
                 int head_dim, float scale, float* scores);
/// Replaces the scores by their softmax.
void softmax_of(Stream stream, float* scores, int64_t count);

}  // namespace longhaul::cuda
