#pragma once
// Loads the factors (scales) of quantized blocks into registers, for AVX2 and above. Include this
// only in *.isa.cc files, which are compiled once per instruction set.

#include <immintrin.h>

#include "ops/matmul/small_blocks.h"
#include "ops/matmul/weight_blocks.h"

namespace longhaul::LH_ISA {
namespace {

/// Returns the first four bytes of block `block`. They hold an f16 factor and, in some types, an
/// f16 minimum. If `block` is not below `blocks`, reads nothing and returns zeros.
template <class Type>
[[gnu::always_inline]] inline int block_head(const uint8_t* p, int block, int blocks) {
  return block < blocks ? static_cast<int>(load_u32(p + block * Type::kBytes)) : 0;
}

/// Returns the first four bytes of four blocks, beginning with block `first`. Plain loads are
/// faster than a gather instruction, especially on CPUs that implement it in microcode. The words
/// are inserted one by one. If they were given as one initialiser list, the compiler would emit
/// narrow stores and a wide load, which would stall.
template <class Type>
[[gnu::always_inline]] inline __m128i four_heads(const uint8_t* p, int first, int blocks) {
  __m128i heads = _mm_cvtsi32_si128(block_head<Type>(p, first, blocks));
  heads = _mm_insert_epi32(heads, block_head<Type>(p, first + 1, blocks), 1);
  heads = _mm_insert_epi32(heads, block_head<Type>(p, first + 2, blocks), 2);
  return _mm_insert_epi32(heads, block_head<Type>(p, first + 3, blocks), 3);
}

/// Returns the factors of up to 8 blocks of MXFP4 (see MXFP4::half_of_power). Blocks past the last
/// one are not read. Their factors in the result may be any number, because their activations are
/// zero.
inline __m256 mxfp4_factors(const uint8_t* p, int blocks) {
  uint64_t exponents = 0;
  for (int b = 0; b < blocks; ++b) exponents |= uint64_t{p[b * MXFP4::kBytes]} << (8 * b);
  const __m256i e = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(exponents)));
  const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
  const __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
  const __m256i is_tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e);
  return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, tiny, is_tiny));
}

inline __m128i fp4_levels() {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(kFp4Levels));
}

/// Returns the eight factors of a block of IQ4_XS, one for each 32 weights.
inline __m256 iq4_xs_factors(const uint8_t* p) {
  // Byte i holds the low four bits of factors 2 * i and 2 * i + 1.
  const uint32_t pairs = load_u32(p + 4);
  const __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(pairs)),
                                        _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
  const __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(load_u16(p + 2)),
                                         _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14));
  const __m256i six =
      _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                      _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4));
  return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(six, _mm256_set1_epi32(32))),
                       _mm256_set1_ps(load_f16(p)));
}

}  // namespace
}  // namespace longhaul::LH_ISA
