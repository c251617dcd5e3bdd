// Computes sixteen outputs of an adapter's second factor at a time. Lanes are outputs, so no sums
// across lanes are needed.

#include "ops/matmul/low_rank_kernels.h"
#include "ops/matmul/packed_outputs.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>
#endif

namespace longhaul::LH_ISA {
namespace {

struct RankBlock {
  const int8_t* q;  // [32]
  float scale, sum;
};

inline RankBlock rank_block(const ActivationGroup* groups, int64_t block) {
  const ActivationGroup& g = groups[block / 8];
  const int64_t at = block % 8;
  return {g.q + 32 * at, g.scale[2 * at], g.sum[2 * at] + g.sum[2 * at + 1]};
}

#if defined(__AVX512VNNI__)

void add(const uint8_t* blocks, int64_t rank_blocks, const ActivationGroup* groups, float* y,
         int outputs) {
  const auto live = static_cast<__mmask16>((1u << outputs) - 1);
  __m512 sum = _mm512_maskz_loadu_ps(live, y);
  for (int64_t b = 0; b < rank_blocks; ++b, blocks += kPackedBlockBytes) {
    const RankBlock t = rank_block(groups, b);
    __m512i even = _mm512_setzero_si512(), odd = _mm512_setzero_si512();
    for (int quad = 0; quad < 8; quad += 2) {
      int first, second;
      __builtin_memcpy(&first, t.q + 4 * quad, 4);
      __builtin_memcpy(&second, t.q + 4 * quad + 4, 4);
      even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(blocks + 64 * quad),
                                 _mm512_set1_epi32(first));
      odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(blocks + 64 * quad + 64),
                                _mm512_set1_epi32(second));
    }
    const __m512 dot = _mm512_cvtepi32_ps(_mm512_add_epi32(even, odd));
    // Weights are stored with an offset of 128.
    const __m512 product =
        _mm512_fmadd_ps(dot, _mm512_set1_ps(t.scale), _mm512_set1_ps(-128.0f * t.sum));
    sum = _mm512_fmadd_ps(product, _mm512_loadu_ps(blocks + 512), sum);
  }
  _mm512_mask_storeu_ps(y, live, sum);
}

#else

void add(const uint8_t* blocks, int64_t rank_blocks, const ActivationGroup* groups, float* y,
         int outputs) {
  float sum[16] = {};
  for (int64_t b = 0; b < rank_blocks; ++b, blocks += kPackedBlockBytes) {
    const RankBlock t = rank_block(groups, b);
    int32_t dot[16] = {};
    for (int quad = 0; quad < 8; ++quad) {
      const uint8_t* w = blocks + 64 * quad;
      const int8_t* q = t.q + 4 * quad;
#pragma omp simd
      for (int i = 0; i < 16; ++i) {
        dot[i] += w[4 * i] * q[0] + w[4 * i + 1] * q[1] + w[4 * i + 2] * q[2] + w[4 * i + 3] * q[3];
      }
    }
    float scale[16];
    __builtin_memcpy(scale, blocks + 512, sizeof scale);
    for (int i = 0; i < 16; ++i) {
      sum[i] += (static_cast<float>(dot[i]) * t.scale - 128.0f * t.sum) * scale[i];
    }
  }
  for (int i = 0; i < outputs; ++i) y[i] += sum[i];
}

#endif

}  // namespace

extern const LowRankKernels kLowRank = {add};

}  // namespace longhaul::LH_ISA
