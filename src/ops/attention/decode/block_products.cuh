#pragma once
// Multiplies queries and weights by keys and values in Q8_0 and Q4_0, in the decode kernel. Tiles
// of 16 rows are in shared memory as stored. The integers of a block are exact in bf16 and are
// multiplied without their scale. For a key, the sum over each block is then multiplied by the
// block's scale. For a value, the softmax weight of the token is first multiplied by the scale (as
// in ops/attention/decode/decode_blocks.h).
//
// The terms of a sum may be added in any order, so each lane reads adjacent elements. In each group
// of 16 elements of a query or a key, a lane reads the four that begin at 4 * (lane % 4). In each
// group of 16 elements of a value, it reads the two that begin at 2 * (lane / 4).
//
// Each nibble of Q4_0 is converted to the number that it represents plus 136. The sum for a key
// therefore starts at -136 times the sum of the query's elements (DecodeRows::less). For values,
// another matrix product subtracts 136 times the sum of the weights.

#include "ops/attention/decode/decode_rows.cuh"
#include "ops/attention/decode/decode_tiles.cuh"

namespace longhaul::cuda {

/// Computes a * b + c for two pairs of bf16 in one instruction.
__device__ __forceinline__ uint32_t multiply_add_pair(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

/// Converts two signed bytes to bf16. The bytes are the low bytes of the two 16-bit halves of x,
/// and the high bytes are ignored. The result is computed as (128 + low seven bits) - 128 for a
/// byte that is not negative, and as (128 + low seven bits) - 256 for a negative byte. bf16
/// represents all of these numbers exactly.
__device__ __forceinline__ uint32_t bf16_of_bytes(uint32_t x) {
  const uint32_t low = masked_with(x, 0x007f007fu, 0x43004300u);
  const uint32_t high = masked_with(x, 0x00800080u, 0x43004300u);
  return multiply_add_pair(high, 0xbf80bf80u, low);
}

/// Loads the four bytes at offset `at` of a row that begins at a multiple of 4 bytes. `between` is
/// true if `at` is not a multiple of 4, which is the case in every second block.
__device__ __forceinline__ uint32_t four_bytes(uint32_t row, int at, bool between) {
  const SharedRow bytes{row};
  if (!between) return bytes.word(at);
  return __byte_perm(bytes.word(at - 2), bytes.word(at + 2), 0x5432);
}

/// Loads the elements of one block of a key that a lane multiplies in two matrix products.
/// `quarter` is the lane's number among the four lanes that read the key. From each group of four
/// adjacent elements, the first product uses the first and third, and the second product the second
/// and fourth.
template <PageType T>
__device__ __forceinline__ void key_numbers(uint32_t row, int block, int quarter,
                                            uint32_t (&x)[4]) {
  const int at = block * kBlockBytes<T> + 2 + 4 * quarter;
  const bool between = block % 2 == 0;
  const uint32_t first = four_bytes(row, at, between);
  if constexpr (T == PageType::kQ8_0) {
    const uint32_t second = four_bytes(row, at + 16, between);
    x[0] = bf16_of_bytes(first);
    x[1] = bf16_of_bytes(first >> 8);
    x[2] = bf16_of_bytes(second);
    x[3] = bf16_of_bytes(second >> 8);
  } else {
    x[0] = raised_half_bytes(first, 0);
    x[1] = raised_half_bytes(first, 2);
    x[2] = raised_half_bytes(first, 1);
    x[3] = raised_half_bytes(first, 3);
  }
}

/// Computes the dot products c of the queries and 16 keys in consecutive rows. Each row begins at a
/// multiple of 4 bytes, because it has a multiple of 64 elements.
template <PageType T, int D>
__device__ __forceinline__ void multiply_keys(const DecodeRows<D, true>& rows, uint32_t keys,
                                              float (&c)[4]) {
  constexpr int kPitch = D / 32 * kBlockBytes<T>;
  const uint32_t low = keys + threadIdx.x % 32 / 4 * kPitch, high = low + 8 * kPitch;
  const int quarter = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) c[i] = 0;
#pragma unroll
  for (int block = 0; block < D / 32; ++block) {
    uint32_t x[4], y[4];
    key_numbers<T>(low, block, quarter, x);
    key_numbers<T>(high, block, quarter, y);
    float sums[4] = {0, 0, 0, 0};
    if constexpr (T == PageType::kQ4_0) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[i] = rows.less[block][i % 2];
    }
    multiply(sums, {x[0], y[0], x[1], y[1]}, rows.q[2 * block][0], rows.q[2 * block][1]);
    multiply(sums, {x[2], y[2], x[3], y[3]}, rows.q[2 * block + 1][0], rows.q[2 * block + 1][1]);
    const int at = block * kBlockBytes<T>;
    const float scale[2] = {half_value(SharedRow{low}.half(at)),
                            half_value(SharedRow{high}.half(at))};
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] = fmaf(sums[i], scale[i / 2], c[i]);
  }
}

/// Sets the scales to zero in slots that hold no key. The bytes in such slots are undefined.
template <PageType T, int D>
__device__ __forceinline__ void clear_absent(uint32_t values, const int32_t* offsets) {
  const int lane = threadIdx.x % 32;
  if (lane < kDecodeKeys && offsets[lane] == kNoKey) {
#pragma unroll
    for (int block = 0; block < D / 32; ++block) {
      const uint32_t at = values + (lane * (D / 32) + block) * kBlockBytes<T>;
      asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(uint16_t{0}) : "memory");
    }
  }
  __syncwarp();
}

/// Multiplies 16 values in consecutive rows by the weights c, and adds the results to rows.o.
template <PageType T, int D>
__device__ __forceinline__ void add_values(DecodeRows<D, true>& rows, uint32_t values,
                                           const float (&c)[4]) {
  constexpr int kPitch = D / 32 * kBlockBytes<T>;
  const int column = threadIdx.x % 32 / 4, quarter = threadIdx.x % 4;
  const uint32_t scaled[2] = {values + column * kPitch, values + (column + 8) * kPitch};
  // This lane reads values 2 * quarter, 2 * quarter + 1, 2 * quarter + 8 and 2 * quarter + 9.
  const uint32_t pairs[2] = {values + 2 * quarter * kPitch, values + (2 * quarter + 8) * kPitch};
#pragma unroll
  for (int block = 0; block < D / 32; ++block) {
    const int at = block * kBlockBytes<T>, numbers = at + 2 + 2 * column;
    uint32_t p[2], bytes[2][2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float scale = half_value(SharedRow{scaled[h]}.half(at));
      p[h] = transposed(bf16_pair(c[2 * h] * scale, c[2 * h + 1] * scale));
      const SharedRow first{pairs[h]}, second{pairs[h] + kPitch};
      bytes[h][0] = halves_of(first.half(numbers), second.half(numbers));
      if (T == PageType::kQ8_0) {
        bytes[h][1] = halves_of(first.half(numbers + 16), second.half(numbers + 16));
      }
    }
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      uint32_t a[4];  // elements 2 * column + t and 2 * column + 16 + t of the block, for two
                      // values each
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = T == PageType::kQ8_0 ? bf16_of_bytes(bytes[i / 2][i % 2] >> (8 * t))
                                    : raised_half_bytes(bytes[i / 2][0], 2 * t + i % 2);
      }
      float(&sums)[4] = rows.o[2 * block + t];
      multiply(sums, a, p[0], p[1]);
      if constexpr (T == PageType::kQ4_0) {
        const uint32_t minus = bf16_pair(-kRaised, -kRaised);
        multiply(sums, {minus, minus, minus, minus}, p[0], p[1]);
      }
    }
  }
}

}  // namespace longhaul::cuda
