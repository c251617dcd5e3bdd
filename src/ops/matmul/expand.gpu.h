#pragma once
// Expands stored weights to bf16 for prefill products, and rows of the embedding table to f32. The
// result equals that of ops/matmul/dequantize.h bit for bit.

#include <cstdint>

#include "ops/matmul/matrix.gpu.h"

namespace longhaul::cuda {

/// Expands rows [begin, begin + count) of `matrix` to out [count, bf16_stride_of(cols)], with zeros
/// past cols. `out` is 16-byte aligned.
void expand_bf16(Stream stream, const MatrixView& matrix, int64_t begin, int64_t count,
                 uint16_t* out);

/// Writes the rows of `table` with the numbers `tokens` [rows] to out [rows, cols]. `tokens` is in
/// device memory. Numbers outside the table give zeros.
void embed_rows(Stream stream, const MatrixView& table, const int32_t* tokens, int64_t rows,
                float* out);

}  // namespace longhaul::cuda
