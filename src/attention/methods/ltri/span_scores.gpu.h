#pragma once
// Searches the index of spans (attention/methods/ltri/span_slots.h) on a CUDA device. Values are
// added in a fixed order.

#include <cstdint>

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Subtracts row[i % width] from rows[i] for i below `count`.
void subtract_row(Stream stream, const float* row, int64_t width, float* rows, int64_t count);

/// The device form of SlottedSpans.
struct SpanTable {
  int64_t blocks = 0, width = 0;
  const int32_t* records = nullptr;
  int64_t record = 0;
  const uint8_t* vectors = nullptr;
  DType type = DType::BF16;
  int64_t slots = 0;
  const float* common = nullptr;  ///< vector that was subtracted from the vectors; null: none
};
/// Writes the score of every block to scores [blocks]. A span's value for a query is the sum of the
/// dot products of the query and its vectors, or their maximum if `sum` is false. The score of a
/// block is the largest value over its spans and over the *count queries [count, width]. Supports
/// F32, BF16 and Q4_0, with a multiple of four elements. Returns false for other types.
bool span_scores(Stream stream, const SpanTable& index, const float* queries, const int32_t* count,
                 bool sum, float* scores);

/// Products [blocks, rows, most] of the rows of every block and at most `most` queries.
struct ProductTable {
  float* products = nullptr;
  int64_t rows = 0, most = 0;
};
/// span_products() and best_products() are the two parts of span_scores(). Between them, products
/// can be summed over ranks. span_products() writes only the products of rows and queries that
/// exist.
bool span_products(Stream stream, const SpanTable& index, const float* queries,
                   const int32_t* count, bool sum, const ProductTable& products);
void best_products(Stream stream, const SpanTable& index, const int32_t* count, bool sum,
                   const ProductTable& products, float* scores);

}  // namespace longhaul::cuda
