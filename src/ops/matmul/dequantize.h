#pragma once
// Converts stored weights to f32 or bf16. The block formats are those of ggml (quants.py of the
// gguf package). The product of a scale and a quant (a stored integer) is exact in f32, and only
// the final addition rounds. The results are therefore bitwise equal at every instruction-set
// level. bf16 results are the f32 results, rounded to nearest even.

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/float_types.h"
#include "base/tensor_view.h"

namespace longhaul {

/// Converts `count` elements at `src` to dst [count], on the calling thread. `count` is a multiple
/// of the type's block size. `src` may have any alignment. If rows are contiguous, several can be
/// converted in one call.
void dequantize_row(DType type, const std::byte* src, int64_t count, float* dst);
void dequantize_row_bf16(DType type, const std::byte* src, int64_t count, bf16_t* dst);

/// Converts rows [begin, begin + count) of a matrix to dst [count, cols], on all threads.
void dequantize_rows(const TensorView& matrix, int64_t begin, int64_t count, float* dst);
void dequantize_rows_bf16(const TensorView& matrix, int64_t begin, int64_t count, bf16_t* dst);

}  // namespace longhaul
