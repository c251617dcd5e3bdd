// kInt8PanelGemm: products of int8 with AVX512-VNNI. x is stored as q + 128, since the instruction
// multiplies unsigned by signed bytes. The starting values of the sums subtract the excess.

#include "ops/core/transpose.h"
#include "ops/matmul/panel_gemm.h"
#include "ops/matmul/panel_output.h"

namespace longhaul::LH_ISA {

// With a matrix unit bf16 products are faster than these.
#if defined(__AVX512VNNI__) && !defined(__AMX_BF16__)
namespace {

constexpr int kInt8Depth = 64;
constexpr int kQuads = kInt8Depth / 4;
constexpr int kVectors = kInt8Depth / 16;

struct Int8Rows {
  uint8_t q[kTileSide][kInt8Depth];  ///< value / scale + 128
  float scale[kTileSide];
};

struct Int8Weights {
  int8_t q[kQuads][kTileSide][4];
  float scale[kTileSide];
  int32_t start[kTileSide];  ///< -128 * (sum of q)
};

static_assert(sizeof(Int8Rows) % 64 == 0 && sizeof(Int8Weights) % 64 == 0);

__mmask16 live_lanes(int64_t count) {
  return count >= 16 ? 0xffff : static_cast<__mmask16>((1u << count) - 1);
}

struct Quantized {
  __m128i q[kVectors];  ///< int8
  float scale;
};

/// Bits of absolute values have the order of the values, with infinity and NaN above all others.
__m512i magnitude_bits(__m512 x) { return _mm512_castps_si512(_mm512_abs_ps(x)); }

/// A tile that contains infinity or NaN gets that value as its scale, and so do all sums with it.
Quantized quantize_int8(const __m512 (&x)[kVectors]) {
  __m512i top = magnitude_bits(x[0]);
  for (int i = 1; i < kVectors; ++i) top = _mm512_max_epi32(top, magnitude_bits(x[i]));
  const float most =
      _mm512_cvtss_f32(_mm512_castsi512_ps(_mm512_set1_epi32(_mm512_reduce_max_epi32(top))));
  const __m512 inverse = _mm512_set1_ps(most > 1e-36f ? 127.0f / most : 0.0f);
  Quantized out;
  out.scale = most / 127.0f;
  for (int i = 0; i < kVectors; ++i) {
    out.q[i] = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(x[i], inverse)));
  }
  return out;
}

void pack_int8_rows(const float* const rows[16], int64_t k, std::byte* to) {
  Int8Rows* tile = reinterpret_cast<Int8Rows*>(to);
  for (int64_t at = 0; at < k; at += kInt8Depth, ++tile) {
    for (int r = 0; r < kTileSide; ++r) {
      __m512 x[kVectors] = {};
      for (int i = 0; i < kVectors && rows[r] != nullptr; ++i) {
        const int64_t column = at + 16 * i;
        if (column < k) x[i] = _mm512_maskz_loadu_ps(live_lanes(k - column), rows[r] + column);
      }
      const Quantized quantized = quantize_int8(x);
      tile->scale[r] = quantized.scale;
      for (int i = 0; i < kVectors; ++i) {  // q + 128 flips the sign bit
        _mm_store_si128(reinterpret_cast<__m128i*>(tile->q[r] + 16 * i),
                        _mm_xor_si128(quantized.q[i], _mm_set1_epi8(-128)));
      }
    }
  }
}

/// Columns [at, at + kInt8Depth) of a row of k bf16, with zeros past its end or for a missing row.
void load_weights(const bf16_t* row, int64_t at, int64_t k, __m512 (&x)[kVectors]) {
  for (int i = 0; i < kVectors; ++i) {
    const int64_t column = at + 16 * i;
    x[i] = _mm512_setzero_ps();
    if (row == nullptr || column >= k) continue;
    const __m256i bits = _mm256_maskz_loadu_epi16(live_lanes(k - column), row + column);
    x[i] = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
}

void pack_int8_weights(const bf16_t* const rows[16], int64_t k, std::byte* to) {
  Int8Weights* tile = reinterpret_cast<Int8Weights*>(to);
  for (int64_t at = 0; at < k; at += kInt8Depth, ++tile) {
    alignas(64) int8_t q[kTileSide][kInt8Depth];
    for (int r = 0; r < kTileSide; ++r) {
      __m512 w[kVectors];
      load_weights(rows[r], at, k, w);
      const Quantized quantized = quantize_int8(w);
      tile->scale[r] = quantized.scale;
      for (int i = 0; i < kVectors; ++i) {
        _mm_store_si128(reinterpret_cast<__m128i*>(q[r] + 16 * i), quantized.q[i]);
      }
    }
    __m512i in[kTileSide];
    for (int r = 0; r < kTileSide; ++r) in[r] = _mm512_load_si512(q[r]);
    transpose_16x16(in, reinterpret_cast<uint32_t*>(tile->q), kTileSide);
    __m512i sums = _mm512_setzero_si512();
    for (int p = 0; p < kQuads; ++p) {
      sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(-128), _mm512_load_si512(tile->q[p]));
    }
    _mm512_store_si512(tile->start, _mm512_sub_epi32(_mm512_setzero_si512(), sums));
  }
}

/// Multiplies rows [r, r + 8) of a tile of x with 32 outputs, over its first `quads`: 16 integer
/// sums, scaled and added to c.
void eight_int8_rows(int quads, const Int8Rows& x, int r, const Int8Weights& w0,
                     const Int8Weights& w1, float* c, bool add) {
  __m512i sum[8][2];
  const __m512i start[2] = {_mm512_load_si512(w0.start), _mm512_load_si512(w1.start)};
  for (int i = 0; i < 8; ++i) sum[i][0] = start[0], sum[i][1] = start[1];
  const uint8_t* rows = x.q[r];
  for (int p = 0; p < quads; ++p, rows += 4) {
    keep_one_pointer(rows);
    const __m512i a = _mm512_load_si512(w0.q[p]), b = _mm512_load_si512(w1.q[p]);
    for (int i = 0; i < 8; ++i) {
      int32_t quad;
      std::memcpy(&quad, rows + i * kInt8Depth, 4);
      const __m512i four = _mm512_set1_epi32(quad);
      sum[i][0] = _mm512_dpbusd_epi32(sum[i][0], four, a);
      sum[i][1] = _mm512_dpbusd_epi32(sum[i][1], four, b);
    }
  }
  const __m512 scale[2] = {_mm512_load_ps(w0.scale), _mm512_load_ps(w1.scale)};
  for (int i = 0; i < 8; ++i) {
    const __m512 of_row = _mm512_set1_ps(x.scale[r + i]);
    for (int j = 0; j < 2; ++j) {
      float* to = c + (r + i) * kBlockSide + 16 * j;
      const __m512 factor = _mm512_mul_ps(scale[j], of_row);
      const __m512 product = _mm512_cvtepi32_ps(sum[i][j]);
      _mm512_store_ps(to, add ? _mm512_fmadd_ps(product, factor, _mm512_load_ps(to))
                              : _mm512_mul_ps(product, factor));
    }
  }
}

void int8_block(int64_t k, const std::byte* x, int64_t x_stride, const std::byte* w,
                int64_t w_stride, float* c, bool accumulate) {
  for (int64_t t = 0; t * kInt8Depth < k; ++t) {
    const int64_t left = k - t * kInt8Depth;
    const int quads = left < kInt8Depth ? static_cast<int>((left + 3) / 4) : kQuads;
    const Int8Weights& w0 = reinterpret_cast<const Int8Weights*>(w)[t];
    const Int8Weights& w1 = reinterpret_cast<const Int8Weights*>(w + w_stride)[t];
    for (int half = 0; half < 2; ++half) {
      const Int8Rows& rows = reinterpret_cast<const Int8Rows*>(x + half * x_stride)[t];
      float* sums = c + half * kTileSide * kBlockSide;
      eight_int8_rows(quads, rows, 0, w0, w1, sums, accumulate || t > 0);
      eight_int8_rows(quads, rows, 8, w0, w1, sums, accumulate || t > 0);
    }
  }
}

}  // namespace

extern const PanelGemmKernels kInt8PanelGemm = {
    .depth = kInt8Depth,
    .x_tile = sizeof(Int8Rows),
    .w_tile = sizeof(Int8Weights),
    .product = "int8",
    .pack_rows = pack_int8_rows,
    .pack_weights = pack_int8_weights,
    .block = int8_block,
    .write = write_block,
    .swiglu = swiglu_tiles<kInt8Depth, pack_int8_rows>,
    .begin = nothing,
    .end = nothing,
};
#else
extern const PanelGemmKernels kInt8PanelGemm = {};
#endif

}  // namespace longhaul::LH_ISA
