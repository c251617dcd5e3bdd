#include "ops/matmul/dequantize.h"

#include "base/error.h"
#include "base/parallel.h"
#include "ops/matmul/dequantize_kernels.h"

namespace longhaul {
namespace {

size_t checked_index(DType type, int64_t count) {
  LH_ASSERT(count >= 0 && count % traits(type).block_size == 0);
  return static_cast<size_t>(type);
}

/// Calls row(type, first byte, elements, destination) for contiguous ranges of rows.
template <class T, class Row>
void over_rows(const TensorView& matrix, int64_t begin, int64_t count, T* dst, Row row) {
  LH_ASSERT(begin >= 0 && count >= 0 && begin + count <= matrix.rows());
  const int64_t cols = matrix.cols();
  parallel_ranges(count, 1, [&](int64_t first, int64_t last) {
    row(matrix.type, matrix.row(begin + first), (last - first) * cols, dst + first * cols);
  });
}

}  // namespace

void dequantize_row(DType type, const std::byte* src, int64_t count, float* dst) {
  kDequantize_for(current_isa()).to_f32[checked_index(type, count)](src, count, dst);
}

void dequantize_row_bf16(DType type, const std::byte* src, int64_t count, bf16_t* dst) {
  kDequantize_for(current_isa()).to_bf16[checked_index(type, count)](src, count, dst);
}

void dequantize_rows(const TensorView& matrix, int64_t begin, int64_t count, float* dst) {
  over_rows(matrix, begin, count, dst, dequantize_row);
}

void dequantize_rows_bf16(const TensorView& matrix, int64_t begin, int64_t count, bf16_t* dst) {
  over_rows(matrix, begin, count, dst, dequantize_row_bf16);
}

}  // namespace longhaul
