// Dequantization kernels for one instruction-set level.

#ifdef __F16C__
#include <immintrin.h>
#endif

#include <cstring>

#include "ops/matmul/dequantize_kernels.h"
#include "ops/matmul/quant_blocks.h"
#include "ops/matmul/small_blocks.h"
// Faster overloads of expand_bf16, declared before the plain template so that they take precedence.
#include "ops/matmul/dequantize_avx2.h"
#include "ops/matmul/dequantize_avx512.h"

namespace longhaul::LH_ISA {
namespace {

const uint8_t* bytes(const std::byte* src) { return reinterpret_cast<const uint8_t*>(src); }

/// Converts f32 to bf16 without branches, so that it vectorises; equals f32_to_bf16.
void round_row(const float* src, int64_t count, bf16_t* dst) {
#if defined(__AVX2__) && !defined(__AVX512BW__)
  for (; count >= 16; count -= 16, src += 16, dst += 16) {
    store(dst, round_16(_mm256_loadu_ps(src), _mm256_loadu_ps(src + 8)));
  }
#endif
  for (int64_t i = 0; i < count; ++i) {
    const auto u = __builtin_bit_cast(uint32_t, src[i]);
    const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    const uint32_t quiet_nan = (u >> 16) | 0x40u;
    dst[i] = static_cast<bf16_t>((u & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
  }
}

template <class Block>
void expand_bf16(Block, const uint8_t* block, bf16_t* dst) {
  alignas(64) float values[Block::kElements];
  Block::expand(block, values);
  round_row(values, Block::kElements, dst);
}

template <class Block>
void blocks_to_f32(const std::byte* src, int64_t count, float* dst) {
  for (int64_t i = 0; i < count; i += Block::kElements, src += Block::kBytes) {
    Block::expand(bytes(src), dst + i);
  }
}

template <class Block>
void blocks_to_bf16(const std::byte* src, int64_t count, bf16_t* dst) {
  for (int64_t i = 0; i < count; i += Block::kElements, src += Block::kBytes) {
    expand_bf16(Block{}, bytes(src), dst + i);
  }
}

void f32_to_f32(const std::byte* src, int64_t count, float* dst) {
  std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(float));
}

void f16_to_f32s(const std::byte* src, int64_t count, float* dst) {
  int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    const __m128i* half8 = reinterpret_cast<const __m128i*>(src + 2 * i);
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128(half8)));
  }
#endif
  for (; i < count; ++i) dst[i] = load_half(bytes(src) + 2 * i);
}

void bf16_to_f32s(const std::byte* src, int64_t count, float* dst) {
  for (int64_t i = 0; i < count; ++i) {
    dst[i] = __builtin_bit_cast(float, static_cast<uint32_t>(load_u16(bytes(src) + 2 * i)) << 16);
  }
}

/// Converts through a buffer that fits into the L1 cache.
template <void (*ToF32)(const std::byte*, int64_t, float*), int kBytes>
void plain_to_bf16(const std::byte* src, int64_t count, bf16_t* dst) {
  constexpr int64_t kStep = 512;
  alignas(64) float values[kStep];
  for (int64_t i = 0; i < count; i += kStep) {
    const int64_t n = count - i < kStep ? count - i : kStep;
    ToF32(src + i * kBytes, n, values);
    round_row(values, n, dst + i);
  }
}

void f16_to_bf16(const std::byte* src, int64_t count, bf16_t* dst) {
  int64_t i = 0;
#ifdef __AVX512BW__
  for (; i + 32 <= count; i += 32) halves_to_bf16(bytes(src) + 2 * i, dst + i);
#endif
  plain_to_bf16<f16_to_f32s, 2>(src + 2 * i, count - i, dst + i);
}

void bf16_to_bf16(const std::byte* src, int64_t count, bf16_t* dst) {
  std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(bf16_t));
}

}  // namespace

const DequantizeKernels kDequantize = {
    .to_f32 = {f32_to_f32,
               f16_to_f32s,
               bf16_to_f32s,
               blocks_to_f32<Q4_0>,
               blocks_to_f32<Q4_1>,
               blocks_to_f32<Q5_0>,
               blocks_to_f32<Q5_1>,
               blocks_to_f32<Q8_0>,
               blocks_to_f32<Q3_K>,
               blocks_to_f32<Q4_K>,
               blocks_to_f32<Q5_K>,
               blocks_to_f32<Q6_K>,
               blocks_to_f32<IQ4_NL>,
               blocks_to_f32<IQ4_XS>,
               blocks_to_f32<Expanded<Q2_K>>,
               blocks_to_f32<Expanded<IQ1_S>>,
               blocks_to_f32<Expanded<IQ1_M>>,
               blocks_to_f32<Expanded<IQ2_XXS>>,
               blocks_to_f32<Expanded<IQ2_XS>>,
               blocks_to_f32<Expanded<IQ2_S>>,
               blocks_to_f32<Expanded<IQ3_XXS>>,
               blocks_to_f32<Expanded<IQ3_S>>,
               blocks_to_f32<Expanded<TQ1_0>>,
               blocks_to_f32<Expanded<TQ2_0>>,
               blocks_to_f32<Expanded<MXFP4>>,
               blocks_to_f32<Expanded<NVFP4>>},
    .to_bf16 = {plain_to_bf16<f32_to_f32, 4>,
                f16_to_bf16,
                bf16_to_bf16,
                blocks_to_bf16<Q4_0>,
                blocks_to_bf16<Q4_1>,
                blocks_to_bf16<Q5_0>,
                blocks_to_bf16<Q5_1>,
                blocks_to_bf16<Q8_0>,
                blocks_to_bf16<Q3_K>,
                blocks_to_bf16<Q4_K>,
                blocks_to_bf16<Q5_K>,
                blocks_to_bf16<Q6_K>,
                blocks_to_bf16<IQ4_NL>,
                blocks_to_bf16<IQ4_XS>,
                blocks_to_bf16<Expanded<Q2_K>>,
                blocks_to_bf16<Expanded<IQ1_S>>,
                blocks_to_bf16<Expanded<IQ1_M>>,
                blocks_to_bf16<Expanded<IQ2_XXS>>,
                blocks_to_bf16<Expanded<IQ2_XS>>,
                blocks_to_bf16<Expanded<IQ2_S>>,
                blocks_to_bf16<Expanded<IQ3_XXS>>,
                blocks_to_bf16<Expanded<IQ3_S>>,
                blocks_to_bf16<Expanded<TQ1_0>>,
                blocks_to_bf16<Expanded<TQ2_0>>,
                blocks_to_bf16<Expanded<MXFP4>>,
                blocks_to_bf16<Expanded<NVFP4>>},
};

}  // namespace longhaul::LH_ISA
