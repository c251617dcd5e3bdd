#pragma once
// Searches the index of blocks (attention/methods/ltri/span_slots.h) on a CUDA device. Sums are
// computed in a fixed order, so results are reproducible.

#include <cstdint>

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Subtracts row [width] from each row of rows [count / width, width].
void subtract_row(Stream stream, const float* row, int64_t width, float* rows, int64_t count);

/// SlottedSpans with device addresses.
struct SpanTable {
  int64_t blocks = 0, width = 0;
  const int32_t* records = nullptr;
  int64_t record = 0;
  const uint8_t* vectors = nullptr;
  DType type = DType::BF16;
  int64_t slots = 0;
  const float* common = nullptr;  ///< the vector that was subtracted from all vectors; null: none
};
/// Writes the score of every block to scores [blocks], as SpanIndex::scores() defines it, with kSum
/// if `sum` is true and kMax otherwise. There are *count queries, [*count, width]. Supports F32,
/// BF16 and Q4_0, with a width that is a multiple of four. Returns false otherwise.
bool span_scores(Stream stream, const SpanTable& index, const float* queries, const int32_t* count,
                 bool sum, float* scores);

/// Products [blocks, rows, most] of the rows of every block and at most `most` queries. If the
/// argument `sum` is true, a row is a span, and the product is the sum of the dot products of its
/// vectors. Otherwise a row is a vector, and the product is a dot product.
struct ProductTable {
  float* products = nullptr;
  int64_t rows = 0, most = 0;
};
/// span_products() and best_products() are the two parts of span_scores(). If several devices share
/// the model, the products are summed over the devices between the two. span_products() writes only
/// the products of rows and queries that exist.
bool span_products(Stream stream, const SpanTable& index, const float* queries,
                   const int32_t* count, bool sum, const ProductTable& products);
void best_products(Stream stream, const SpanTable& index, const int32_t* count, bool sum,
                   const ProductTable& products, float* scores);

}  // namespace longhaul::cuda
