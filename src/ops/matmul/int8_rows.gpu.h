#pragma once
// Rows in the form that products with block types read: rounded to int8 in blocks of 32, to the bit
// as ops/matmul/matvec.h rounds them. Made once for all matrices that multiply the rows.

#include <cstddef>
#include <cstdint>

#include "ops/core/gpu/numbers.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Beside 16 numbers: the scale of their block, and the scale times their sum.
struct alignas(8) GroupFactors {
  float scale, sum;
};

/// Group g of row r, numbers 16 g to 16 g + 15, is at r * groups + g.
struct Int8Rows {
  Word4* q = nullptr;  ///< 16 signed bytes each
  GroupFactors* factors = nullptr;
  int64_t groups = 0;  ///< of a row
};

/// Bytes of `rows` rows of `cols` numbers, a multiple of 32.
inline size_t int8_bytes(int64_t rows, int64_t cols) {
  return static_cast<size_t>(rows * (cols / 16)) * (sizeof(Word4) + sizeof(GroupFactors));
}

/// The rows in memory of int8_bytes() that begins at a multiple of 16 bytes.
inline Int8Rows int8_rows_in(void* memory, int64_t rows, int64_t cols) {
  auto* const q = static_cast<Word4*>(memory);
  return {q, reinterpret_cast<GroupFactors*>(q + rows * (cols / 16)), cols / 16};
}

/// Few rows in both forms that products read, plain types the one and block types the other.
struct ProductRows {
  uint16_t* bf16 = nullptr;  ///< [rows, 16 int8.groups] packed
  Int8Rows int8;
};

/// f32 or bf16 rows `stride` elements apart; cols a multiple of 32.
void round_to_int8(Stream stream, const float* x, int64_t rows, int64_t cols, int64_t stride,
                   const Int8Rows& to);
void round_to_int8(Stream stream, const uint16_t* x, int64_t rows, int64_t cols, int64_t stride,
                   const Int8Rows& to);

}  // namespace longhaul::cuda
