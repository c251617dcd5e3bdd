#include "ops/cpu/panel_gemm.h"

#include "ops/cpu/amx_tiles.h"
#include "ops/cpu/simd.h"
#include "ops/cpu/transpose.h"

namespace longhaul::LH_ISA {

#if defined(__AVX512BF16__)
namespace {

void pack_rows(const float* const rows[16], int64_t k, bf16_t* tiles) {
  const int64_t k_tiles = (k + kTileDepth - 1) / kTileDepth;
  for (int64_t t = 0; t < k_tiles; ++t, tiles += kTileElements) {
    const int64_t at = t * kTileDepth, left = k - at;
    const __mmask16 low = left >= 16 ? 0xffff : static_cast<__mmask16>((1u << left) - 1);
    const __mmask16 high = left >= 32   ? 0xffff
                           : left <= 16 ? 0
                                        : static_cast<__mmask16>((1u << (left - 16)) - 1);
    for (int i = 0; i < 16; ++i) {
      __m512i packed = _mm512_setzero_si512();
      if (rows[i] != nullptr) {
        const __m512 a = _mm512_maskz_loadu_ps(low, rows[i] + at);
        const __m512 b = _mm512_maskz_loadu_ps(high, rows[i] + at + 16);
        packed = (__m512i)_mm512_cvtne2ps_pbh(b, a);
      }
      _mm512_storeu_si512(tiles + i * kTileDepth, packed);
    }
  }
}

void pack_weights(const bf16_t* const rows[16], int64_t k, bf16_t* tiles) {
  const int64_t k_tiles = (k + kTileDepth - 1) / kTileDepth;
  for (int64_t t = 0; t < k_tiles; ++t, tiles += kTileElements) {
    const int64_t at = t * kTileDepth, left = k - at;
    const __mmask32 live = left >= 32 ? 0xffffffffu : (1u << left) - 1;
    __m512i in[16];
    for (int i = 0; i < 16; ++i) {
      in[i] = rows[i] == nullptr ? _mm512_setzero_si512()
                                 : _mm512_maskz_loadu_epi16(live, rows[i] + at);
    }
    transpose_16x16(in, reinterpret_cast<uint32_t*>(tiles), 16);
  }
}

#if defined(__AMX_BF16__)
void begin() { load_tile_config(); }

void end() { _tile_release(); }

void block(int k_tiles, const bf16_t* a, int64_t a_stride, const bf16_t* b, int64_t b_stride,
           float* c, bool accumulate) {
  multiply_tile_pairs(k_tiles, {a, a + a_stride, 64, kTileElements},
                      {b, b + b_stride, 64, kTileElements}, c, 32 * sizeof(float), accumulate);
}
#else
void begin() {}
void end() {}

/// Eight rows by 32 outputs: 16 sums, two weight vectors and a broadcast pair.
void eight_rows(int k_tiles, const bf16_t* a, const bf16_t* b, int64_t b_stride, float* c,
                bool accumulate) {
  __m512 sum[8][2];
  for (int r = 0; r < 8; ++r) {
    for (int j = 0; j < 2; ++j) {
      sum[r][j] = accumulate ? _mm512_loadu_ps(c + r * 32 + 16 * j) : _mm512_setzero_ps();
    }
  }
  for (int t = 0; t < k_tiles; ++t, a += kTileElements, b += kTileElements) {
    for (int p = 0; p < 16; ++p) {
      const __m512bh w0 = (__m512bh)_mm512_load_si512(b + 32 * p);
      const __m512bh w1 = (__m512bh)_mm512_load_si512(b + b_stride + 32 * p);
      for (int r = 0; r < 8; ++r) {
        int32_t pair;
        __builtin_memcpy(&pair, a + r * kTileDepth + 2 * p, 4);
        const __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
        sum[r][0] = _mm512_dpbf16_ps(sum[r][0], x, w0);
        sum[r][1] = _mm512_dpbf16_ps(sum[r][1], x, w1);
      }
    }
  }
  for (int r = 0; r < 8; ++r) {
    for (int j = 0; j < 2; ++j) _mm512_storeu_ps(c + r * 32 + 16 * j, sum[r][j]);
  }
}

void block(int k_tiles, const bf16_t* a, int64_t a_stride, const bf16_t* b, int64_t b_stride,
           float* c, bool accumulate) {
  for (int r = 0; r < 32; r += 8) {
    eight_rows(k_tiles, a + r / 16 * a_stride + r % 16 * kTileDepth, b, b_stride, c + r * 32,
               accumulate);
  }
}
#endif

void write(const float* c, int rows, int outputs, const float* bias, bool add, float* y,
           int64_t y_stride) {
  for (int half = 0; half < outputs; half += 16) {
    const int live = outputs - half < 16 ? outputs - half : 16;
    const __mmask16 mask = static_cast<__mmask16>((1u << live) - 1);
    const __m512 shift =
        bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, bias + half);
    for (int r = 0; r < rows; ++r) {
      float* to = y + r * y_stride + half;
      __m512 sum = _mm512_add_ps(_mm512_load_ps(c + r * 32 + half), shift);
      if (add) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, to));
      _mm512_mask_storeu_ps(to, mask, sum);
    }
  }
}

/// x / (1 + e^-x) * up
Vec gated(Vec x, Vec up) {
  const Vec clamped = max(x, splat(-80.0f));  // e^80 is finite and the quotient is 0 to f32
  const Vec power = exp2_precise(clamped * splat(-1.44269504f));
  return x * up / (splat(1.0f) + power);
}

void swiglu(const float* gate, const float* up, bf16_t* tile, int64_t tile_stride) {
  for (int r = 0; r < 32; ++r, gate += 32, up += 32) {
    const Vec a = gated(load(gate), load(up)), b = gated(load(gate + 16), load(up + 16));
    const __m512bh pair = _mm512_cvtne2ps_pbh((__m512)b, (__m512)a);
    _mm512_storeu_si512(tile + r / 16 * tile_stride + r % 16 * kTileDepth, (__m512i)pair);
  }
}

}  // namespace

extern const PanelGemmKernels kPanelGemmKernels = {pack_rows, pack_weights, block, write,
                                                   swiglu,    begin,        end};
#else
extern const PanelGemmKernels kPanelGemmKernels = {};
#endif

}  // namespace longhaul::LH_ISA
