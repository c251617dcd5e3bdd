// kInt16PanelGemm: products of 16-bit integers, twice as many per step as in f32. Both operands
// (weights after rounding to bf16) are rounded to multiples of a scale for every row and tile. Sums
// of a tile are exact.

#include "ops/core/isa/small_floats.h"
#include "ops/matmul/panel_gemm.h"
#include "ops/matmul/panel_output.h"

namespace longhaul::LH_ISA {

// Levels with bf16 products do not need it.
#if defined(__AVX2__) && !defined(__AVX512BF16__)
namespace {

constexpr int kInt16Depth = 128;
constexpr int kPairs = kInt16Depth / 2;
constexpr int kMost = 4095;  // largest |q|: kInt16Depth products fit in 31 bits
static_assert(int64_t{kInt16Depth} * kMost * kMost <= INT32_MAX);

struct Int16Rows {
  int16_t q[kTileSide][kInt16Depth];
  float scale[kTileSide];
};

struct Int16Weights {
  int16_t q[kPairs][kTileSide][2];
  float scale[kTileSide];
};

/// q = x / scale, rounded to nearest even, at most kMost. Returns the scale, which is NaN if one of
/// x is NaN. The largest value is found by comparing bits, in whose order infinity and NaN come
/// last.
float quantize_int16(const float* x, int16_t* q) {
  int32_t bits = 0;
#pragma omp simd reduction(max : bits)
  for (int i = 0; i < kInt16Depth; ++i) {
    const int32_t a = static_cast<int32_t>(bits_from_float(x[i]) & 0x7fffffffu);
    bits = a > bits ? a : bits;
  }
  const float top = float_from_bits(static_cast<uint32_t>(bits));
  const float inverse = top > 1e-30f ? kMost / top : 0.0f;
#pragma omp simd
  for (int i = 0; i < kInt16Depth; ++i) {  // adding 1.5 * 2^23 leaves the integer in the low bits
    float shifted = x[i] * inverse;
    shifted += 12582912.0f;
    q[i] = static_cast<int16_t>(bits_from_float(shifted) - 0x4b400000u);
  }
  return top / kMost;
}

void pack_int16_rows(const float* const rows[16], int64_t k, std::byte* to) {
  Int16Rows* tile = reinterpret_cast<Int16Rows*>(to);
  for (int64_t at = 0; at < k; at += kInt16Depth, ++tile) {
    const int64_t count = k - at < kInt16Depth ? k - at : kInt16Depth;
    for (int r = 0; r < kTileSide; ++r) {
      float x[kInt16Depth] = {};
      if (rows[r] != nullptr) {
        std::memcpy(x, rows[r] + at, sizeof(float) * static_cast<size_t>(count));
      }
      tile->scale[r] = quantize_int16(x, tile->q[r]);
    }
  }
}

void pack_int16_weights(const bf16_t* const rows[16], int64_t k, std::byte* to) {
  Int16Weights* tile = reinterpret_cast<Int16Weights*>(to);
  for (int64_t at = 0; at < k; at += kInt16Depth, ++tile) {
    const int64_t count = k - at < kInt16Depth ? k - at : kInt16Depth;
    for (int r = 0; r < kTileSide; ++r) {
      bf16_t stored[kInt16Depth] = {};
      if (rows[r] != nullptr) {
        std::memcpy(stored, rows[r] + at, sizeof(bf16_t) * static_cast<size_t>(count));
      }
      float w[kInt16Depth];
      for (int i = 0; i < kInt16Depth; i += kLanes) {
        store(w + i, load_bf16(reinterpret_cast<const uint16_t*>(stored) + i));
      }
      int16_t q[kInt16Depth];
      tile->scale[r] = quantize_int16(w, q);
      for (int p = 0; p < kPairs; ++p) std::memcpy(tile->q[p][r], q + 2 * p, 4);
    }
  }
}

#if defined(__AVX512VNNI__)
using Sums = __m512i;
constexpr int kRows = 8;
Sums load_pairs(const void* p) { return _mm512_loadu_si512(p); }
Sums broadcast_pair(int32_t pair) { return _mm512_set1_epi32(pair); }
Sums add_products(Sums sum, Sums x, Sums w) { return _mm512_dpwssd_epi32(sum, x, w); }
Vec to_floats(Sums sum) { return (Vec)_mm512_cvtepi32_ps(sum); }
#else
using Sums = __m256i;
constexpr int kRows = 4;
Sums load_pairs(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
Sums broadcast_pair(int32_t pair) { return _mm256_set1_epi32(pair); }
Sums add_products(Sums sum, Sums x, Sums w) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
}
Vec to_floats(Sums sum) { return (Vec)_mm256_cvtepi32_ps(sum); }
#endif

/// Multiplies kRows rows of a tile of x from r on with 2 * kLanes outputs, over its first `pairs`.
/// The scaled sums are added to c.
void rows_by_outputs(int pairs, const Int16Rows& x, int r, const int16_t* const w[2],
                     const float* const scales[2], float* c, bool add) {
  Sums sum[kRows][2] = {};
  const int16_t* rows = x.q[r];
#pragma GCC unroll 2
  for (int p = 0; p < pairs; ++p, rows += 2) {
    keep_one_pointer(rows);
    const Sums a = load_pairs(w[0] + 2 * kTileSide * p), b = load_pairs(w[1] + 2 * kTileSide * p);
    for (int i = 0; i < kRows; ++i) {
      int32_t pair;
      std::memcpy(&pair, rows + i * kInt16Depth, 4);
      const Sums both = broadcast_pair(pair);
      sum[i][0] = add_products(sum[i][0], both, a);
      sum[i][1] = add_products(sum[i][1], both, b);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    const Vec of_row = splat(x.scale[r + i]);
    for (int j = 0; j < 2; ++j) {
      float* to = c + (r + i) * kBlockSide + kLanes * j;
      const Vec product = to_floats(sum[i][j]) * load(scales[j]);
      store(to, add ? fma(product, of_row, load(to)) : product * of_row);
    }
  }
}

void int16_block(int64_t k, const std::byte* x, int64_t x_stride, const std::byte* w,
                 int64_t w_stride, float* c, bool accumulate) {
  for (int64_t t = 0; t * kInt16Depth < k; ++t) {
    const int64_t left = k - t * kInt16Depth;
    const int pairs = left < kInt16Depth ? static_cast<int>((left + 1) / 2) : kPairs;
    for (int n = 0; n < kBlockSide; n += 2 * kLanes) {
      const int16_t* weights[2];
      const float* scales[2];
      for (int j = 0; j < 2; ++j) {
        const int output = n + j * kLanes, at = output % kTileSide;
        const Int16Weights& tile =
            reinterpret_cast<const Int16Weights*>(w + output / kTileSide * w_stride)[t];
        weights[j] = tile.q[0][at];
        scales[j] = tile.scale + at;
      }
      for (int r = 0; r < kBlockSide; r += kRows) {
        const int half = r / kTileSide;
        const Int16Rows& rows = reinterpret_cast<const Int16Rows*>(x + half * x_stride)[t];
        rows_by_outputs(pairs, rows, r % kTileSide, weights, scales,
                        c + half * kTileSide * kBlockSide + n, accumulate || t > 0);
      }
    }
  }
}

}  // namespace

extern const PanelGemmKernels kInt16PanelGemm = {
    .depth = kInt16Depth,
    .x_tile = sizeof(Int16Rows),
    .w_tile = sizeof(Int16Weights),
    .product = "int16",
    .pack_rows = pack_int16_rows,
    .pack_weights = pack_int16_weights,
    .block = int16_block,
    .write = write_block,
    .swiglu = swiglu_tiles<kInt16Depth, pack_int16_rows>,
    .begin = nothing,
    .end = nothing,
};
#else
extern const PanelGemmKernels kInt16PanelGemm = {};
#endif

}  // namespace longhaul::LH_ISA
