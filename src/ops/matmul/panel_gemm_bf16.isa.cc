// kBf16PanelGemm: bf16 products, f32 sums.

#include "ops/core/isa/amx_tiles.h"
#include "ops/core/transpose.h"
#include "ops/matmul/panel_gemm.h"
#include "ops/matmul/panel_output.h"

namespace longhaul::LH_ISA {

#if defined(__AVX512BF16__)
namespace {

constexpr int kTileDepth = 32;
constexpr int kTileElements = kTileSide * kTileDepth;

int64_t tiles_of(int64_t k) { return (k + kTileDepth - 1) / kTileDepth; }

void pack_bf16_rows(const float* const rows[16], int64_t k, std::byte* to) {
  bf16_t* tiles = reinterpret_cast<bf16_t*>(to);
  const int64_t k_tiles = tiles_of(k);
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

void pack_bf16_weights(const bf16_t* const rows[16], int64_t k, std::byte* to) {
  bf16_t* tiles = reinterpret_cast<bf16_t*>(to);
  const int64_t k_tiles = tiles_of(k);
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

void bf16_block(int64_t k, const std::byte* x, int64_t x_stride, const std::byte* w,
                int64_t w_stride, float* c, bool accumulate) {
  const bf16_t* a[] = {reinterpret_cast<const bf16_t*>(x),
                       reinterpret_cast<const bf16_t*>(x + x_stride)};
  const bf16_t* b[] = {reinterpret_cast<const bf16_t*>(w),
                       reinterpret_cast<const bf16_t*>(w + w_stride)};
  multiply_tile_pairs(static_cast<int>(tiles_of(k)), {a[0], a[1], 64, kTileElements},
                      {b[0], b[1], 64, kTileElements}, c, kBlockSide * sizeof(float), accumulate);
}
#else
constexpr auto begin = nothing, end = nothing;

/// Eight rows by 32 outputs: 16 sums, two weight vectors and a broadcast pair.
void eight_rows(int64_t k_tiles, const bf16_t* a, const bf16_t* b, int64_t b_stride, float* c,
                bool accumulate) {
  __m512 sum[8][2];
  for (int r = 0; r < 8; ++r) {
    for (int j = 0; j < 2; ++j) {
      sum[r][j] = accumulate ? _mm512_loadu_ps(c + r * 32 + 16 * j) : _mm512_setzero_ps();
    }
  }
  for (int64_t t = 0; t < k_tiles; ++t, a += kTileElements, b += kTileElements) {
    const bf16_t* pairs = a;
    for (int p = 0; p < 16; ++p, pairs += 2) {
      keep_one_pointer(pairs);
      const __m512bh w0 = (__m512bh)_mm512_load_si512(b + 32 * p);
      const __m512bh w1 = (__m512bh)_mm512_load_si512(b + b_stride + 32 * p);
      for (int r = 0; r < 8; ++r) {
        int32_t pair;
        __builtin_memcpy(&pair, pairs + r * kTileDepth, 4);
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

void bf16_block(int64_t k, const std::byte* x, int64_t x_stride, const std::byte* w,
                int64_t w_stride, float* c, bool accumulate) {
  const bf16_t* b = reinterpret_cast<const bf16_t*>(w);
  for (int r = 0; r < kBlockSide; r += 8) {
    const bf16_t* a = reinterpret_cast<const bf16_t*>(x + r / kTileSide * x_stride);
    eight_rows(tiles_of(k), a + r % kTileSide * kTileDepth, b,
               w_stride / static_cast<int64_t>(sizeof(bf16_t)), c + r * kBlockSide, accumulate);
  }
}
#endif

void swiglu_bf16(const Gating& gating, const float* gate, int /*one pair*/, std::byte* to,
                 int64_t tile_stride) {
  const float* up = gate + kBlockSide * kBlockSide;
  for (int r = 0; r < kBlockSide; ++r, gate += kBlockSide, up += kBlockSide) {
    const Vec a = gated(gating, load(gate), load(up));
    const Vec b = gated(gating, load(gate + 16), load(up + 16));
    const __m512bh pair = _mm512_cvtne2ps_pbh((__m512)b, (__m512)a);
    bf16_t* tile = reinterpret_cast<bf16_t*>(to + r / kTileSide * tile_stride);
    _mm512_storeu_si512(tile + r % kTileSide * kTileDepth, (__m512i)pair);
  }
}

}  // namespace

extern const PanelGemmKernels kBf16PanelGemm = {
    .depth = kTileDepth,
    .x_tile = 2 * kTileElements,
    .w_tile = 2 * kTileElements,
    .product = "bf16",
    .pack_rows = pack_bf16_rows,
    .pack_weights = pack_bf16_weights,
    .block = bf16_block,
    .write = write_block,
    .swiglu = swiglu_bf16,
    .begin = begin,
    .end = end,
};
#else
extern const PanelGemmKernels kBf16PanelGemm = {};
#endif

}  // namespace longhaul::LH_ISA
