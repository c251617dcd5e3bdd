#pragma once
// Converts stored weights to bf16 for prefill products, and rows of the embedding table to f32. The
// results are bitwise equal to those of ops/matmul/dequantize.h.

#include <cstdint>

#include "ops/matmul/matrix.gpu.h"

namespace longhaul::cuda {

/// Converts rows [begin, begin + count) of `matrix` to out [count, bf16_stride_of(cols)]. The
/// columns from `cols` on become zeros. `out` is aligned to 16 bytes.
void expand_bf16(Stream stream, const MatrixView& matrix, int64_t begin, int64_t count,
                 uint16_t* out);

/// Writes row tokens[i] of `table` to row i of out [rows, cols]. `tokens` [rows] is in device
/// memory. If the table has no row tokens[i], row i becomes zeros.
void embed_rows(Stream stream, const MatrixView& table, const int32_t* tokens, int64_t rows,
                float* out);

}  // namespace longhaul::cuda
