#pragma once
// Look-ups in the index of spans (ops/blocks/span_slots.h) on a CUDA device. Sums have a fixed
// order.

#include <cstdint>

#include "base/dtype.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// rows[i] -= row[i % width]
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
/// scores [blocks] = the largest value over a block's spans and the `*count` queries [count,
/// width]. A span's value is the sum (or, without `sum`, the largest) of <query, vector> over its
/// vectors. Supports F32, BF16 and Q4_0 with multiples of four elements. Returns false for other
/// types.
bool span_scores(Stream stream, const SpanTable& index, const float* queries, const int32_t* count,
                 bool sum, float* scores);

}  // namespace longhaul::cuda
