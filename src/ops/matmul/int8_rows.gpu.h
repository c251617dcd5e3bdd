#pragma once
// Rows that are rounded to int8 in blocks of 32 elements. Products with weights of block types read
// them. The results are bitwise equal to those of ops/matmul/matvec.h. The rows are rounded once
// for all matrices that multiply them.

#include <cstddef>
#include <cstdint>

#include "ops/core/gpu/numbers.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Factors of a group of 16 elements: the scale of their block, and the scale times the sum of the
/// 16 int8.
struct alignas(8) GroupFactors {
  float scale, sum;
};

/// Rows in int8. Group g of row r has elements 16 * g to 16 * g + 15 and is at index r * groups + g
/// of both arrays.
struct Int8Rows {
  Word4* q = nullptr;  ///< 16 signed bytes per group
  GroupFactors* factors = nullptr;
  int64_t groups = 0;  ///< number of groups per row
};

/// Returns the size in bytes of `rows` rows of `cols` elements. cols is a multiple of 32.
inline size_t int8_bytes(int64_t rows, int64_t cols) {
  return static_cast<size_t>(rows * (cols / 16)) * (sizeof(Word4) + sizeof(GroupFactors));
}

/// Returns the Int8Rows in `memory`, which has int8_bytes() bytes and is aligned to 16 bytes.
inline Int8Rows int8_rows_in(void* memory, int64_t rows, int64_t cols) {
  auto* const q = static_cast<Word4*>(memory);
  return {q, reinterpret_cast<GroupFactors*>(q + rows * (cols / 16)), cols / 16};
}

/// Rows in both formats that the products of decoding read: bf16 for types without blocks, and int8
/// for block types.
struct ProductRows {
  uint16_t* bf16 = nullptr;  ///< [rows, 16 * int8.groups], contiguous
  Int8Rows int8;
};

/// Rounds rows of f32 or bf16 to int8. Rows begin `stride` elements apart. cols is a multiple of
/// 32.
void round_to_int8(Stream stream, const float* x, int64_t rows, int64_t cols, int64_t stride,
                   const Int8Rows& to);
void round_to_int8(Stream stream, const uint16_t* x, int64_t rows, int64_t cols, int64_t stride,
                   const Int8Rows& to);

}  // namespace longhaul::cuda
