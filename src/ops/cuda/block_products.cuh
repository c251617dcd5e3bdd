#pragma once
// Products with keys and values in Q8_0 and Q4_0, of tiles of 16 that lie in shared memory as they
// are stored: the whole numbers of a block, which bf16 holds exactly, are multiplied, a key's sums
// are scaled block by block, and a value's scales go into its weight (as ops/cpu/few_blocks.h
// does).
//
// Sums do not depend on the order of what is added, so that each lane takes numbers that lie
// together: of every 16 numbers of a query and a key, the four from 4 (lane % 4) on, and of every
// 32 numbers of a value the four from 4 (lane / 4) on.

#include "ops/cuda/few_rows.cuh"
#include "ops/cuda/few_tiles.cuh"

namespace longhaul::cuda {

/// a * b + c of two bf16.
__device__ __forceinline__ uint32_t multiply_add_pair(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

/// Two signed bytes in the low halves of 16 bits each, whatever is beside them: 128 + its low seven
/// bits less 128 or, for a negative one, 256. bf16 holds all of these.
__device__ __forceinline__ uint32_t bf16_of_bytes(uint32_t x) {
  const uint32_t low = (x & 0x007f007fu) | 0x43004300u, high = (x & 0x00800080u) | 0x43004300u;
  return multiply_add_pair(high, 0xbf80bf80u, low);
}
/// Two half bytes less 8.
__device__ __forceinline__ uint32_t bf16_of_half_bytes(uint32_t x) {
  const uint32_t more = (x & 0x000f000fu) | 0x43004300u;  // 128 + its value
  return multiply_add_pair(more, 0x3f803f80u, 0xc308c308u);
}

template <PageType T>
inline constexpr int kBlockBytes = T == PageType::kQ8_0 ? 34 : 18;

/// Four bytes from place `at` of a row, which begins at a multiple of 4 bytes. Numbers of every
/// second block begin between two words.
__device__ __forceinline__ uint32_t four_bytes(uint32_t row, int at, bool between) {
  const SharedRow bytes{row};
  if (!between) return bytes.word(at);
  return __byte_perm(bytes.word(at - 2), bytes.word(at + 2), 0x5432);
}

/// A key's numbers of one block in two products: those of lane `quarter` of four.
template <PageType T>
__device__ __forceinline__ void key_numbers(uint32_t row, int block, int quarter,
                                            uint32_t (&x)[4]) {
  const int at = block * kBlockBytes<T> + 2 + 4 * quarter;
  const bool between = block % 2 == 0;
  const uint32_t first = four_bytes(row, at, between);
  if constexpr (T == PageType::kQ8_0) {
    const uint32_t second = four_bytes(row, at + 16, between);
    x[0] = bf16_of_bytes(__byte_perm(first, 0, 0x4140));
    x[1] = bf16_of_bytes(__byte_perm(first, 0, 0x4342));
    x[2] = bf16_of_bytes(__byte_perm(second, 0, 0x4140));
    x[3] = bf16_of_bytes(__byte_perm(second, 0, 0x4342));
  } else {
    const uint32_t low = __byte_perm(first, 0, 0x4140), high = __byte_perm(first, 0, 0x4342);
    x[0] = bf16_of_half_bytes(low);
    x[1] = bf16_of_half_bytes(high);
    x[2] = bf16_of_half_bytes(low >> 4);
    x[3] = bf16_of_half_bytes(high >> 4);
  }
}

/// The products of 16 keys, whose rows follow each other and, being of a multiple of 64 numbers,
/// begin at words.
template <PageType T, int D>
__device__ __forceinline__ void multiply_keys(const FewRows<D, true>& rows, uint32_t keys,
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
    multiply(sums, {x[0], y[0], x[1], y[1]}, rows.q[2 * block][0], rows.q[2 * block][1]);
    multiply(sums, {x[2], y[2], x[3], y[3]}, rows.q[2 * block + 1][0], rows.q[2 * block + 1][1]);
    const int at = block * kBlockBytes<T>;
    const float scale[2] = {half_value(SharedRow{low}.half(at)),
                            half_value(SharedRow{high}.half(at))};
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] = fmaf(sums[i], scale[i / 2], c[i]);
  }
}

/// rows.o += 16 values, whose rows follow each other, times the weights c. A value without a key
/// has no numbers; its weight is zero.
template <PageType T, int D>
__device__ __forceinline__ void add_values(FewRows<D, true>& rows, uint32_t values,
                                           const int32_t* offsets, const float (&c)[4]) {
  constexpr int kPitch = D / 32 * kBlockBytes<T>;
  const int column = threadIdx.x % 32 / 4, quarter = threadIdx.x % 4;
  const uint32_t scaled[2] = {values + column * kPitch, values + (column + 8) * kPitch};
  const bool present[2] = {offsets[column] != kNoKey, offsets[column + 8] != kNoKey};
  const uint32_t first = values + 2 * quarter * kPitch;
#pragma unroll
  for (int block = 0; block < D / 32; ++block) {
    const int at = block * kBlockBytes<T>;
    uint32_t p[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float scale = present[h] ? half_value(SharedRow{scaled[h]}.half(at)) : 0.0f;
      p[h] = transposed(bf16_pair(c[2 * h] * scale, c[2 * h + 1] * scale));
    }
    uint32_t word[4];  // of values 2 quarter, the next, and those 8 further on
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t row = first + (i % 2 + i / 2 * 8) * kPitch;
      const bool between = block % 2 == 0;
      if constexpr (T == PageType::kQ8_0) {
        word[i] = four_bytes(row, at + 2 + 4 * column, between);
      } else {
        word[i] = four_bytes(row, at + 2 + 4 * (column % 4), between) >> (column / 4 * 4);
      }
    }
#pragma unroll
    for (uint32_t t = 0; t < 2; ++t) {
      uint32_t a[4];  // numbers 2 t and 2 t + 1 of the four, of two values each
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t selector = 0x1111u * (2 * t + i % 2) + 0x0400u;
        const uint32_t two = __byte_perm(word[i / 2 * 2], word[i / 2 * 2 + 1], selector);
        a[i] = T == PageType::kQ8_0 ? bf16_of_bytes(two) : bf16_of_half_bytes(two);
      }
      multiply(rows.o[2 * block + t], a, p[0], p[1]);
    }
  }
}

}  // namespace longhaul::cuda
