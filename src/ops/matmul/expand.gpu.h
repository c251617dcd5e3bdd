#pragma once
// Stored weights to bf16 for products with many rows, and rows of the embedding table to f32. The
// bits are those of ops/matmul/dequantize.h.

#include <cstdint>

#include "ops/matmul/matrix.gpu.h"

namespace longhaul::cuda {

/// Rows [begin, begin + count) of `matrix` to out [count, bf16_stride_of(cols)], zeros past cols;
/// `out` is 16-byte aligned.
void expand_bf16(Stream stream, const MatrixView& matrix, int64_t begin, int64_t count,
                 uint16_t* out);

/// out [rows, cols] = rows of `table` that `tokens` [rows], in device memory, number. A number
/// outside of the table gives zeros.
void embed_rows(Stream stream, const MatrixView& table, const int32_t* tokens, int64_t rows,
                float* out);

}  // namespace longhaul::cuda
