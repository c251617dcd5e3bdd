#pragma once
// Look-ups in the index of spans (ops/blocks/span_slots.h) on a CUDA device. Sums have a fixed
// order.

#include <cstdint>

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Subtracts row[i % width] from rows[i].
void subtract_row(Stream stream, const float* row, int64_t width, float* rows, int64_t count);

/// The device form of SlottedSpans.
struct SpanTable {
  int64_t blocks = 0, width = 0;
  const int32_t* records = nullptr;
  int64_t record = 0;
  const uint8_t* vectors = nullptr;
  DType type = DType::BF16;
  int64_t slots = 0;
  const float* common = nullptr;  ///< subtracted from the vectors; null: none
};
/// Writes to scores [blocks] the largest value over the spans of a block and over the `*count`
/// queries [count, width]. The value of a span is the sum of <query, vector> over its vectors, or
/// the largest <query, vector> without `sum`. Supports F32, BF16 and Q4_0 with multiples of four
/// elements. Returns false for other types.
bool span_scores(Stream stream, const SpanTable& index, const float* queries, const int32_t* count,
                 bool sum, float* scores);

/// Products [blocks, rows, most] of the rows of every block with at most `most` queries.
struct ProductTable {
  float* products = nullptr;
  int64_t rows = 0, most = 0;
};
/// The two parts of span_scores(), between which products can be summed over ranks. span_products()
/// writes the products of existing rows and queries only.
bool span_products(Stream stream, const SpanTable& index, const float* queries,
                   const int32_t* count, bool sum, const ProductTable& products);
void best_products(Stream stream, const SpanTable& index, const int32_t* count, bool sum,
                   const ProductTable& products, float* scores);

}  // namespace longhaul::cuda
