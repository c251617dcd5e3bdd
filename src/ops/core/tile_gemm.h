#pragma once
// Computes C[m, n] = A[m, k] * B[k, n], or adds the product to C. The operands are small blocks
// that fit in the caches. Attention multiplies a tile of queries by keys, and the resulting weights
// by values. Each struct is one implementation. A is row-major, and each struct states the format
// of B. Include this only in *.isa.cc files, which are compiled once per instruction set.

#include "ops/core/isa/amx_tiles.h"
#include "ops/core/isa/simd.h"

namespace longhaul::LH_ISA {

/// Multiplies in f32, at all ISA levels. B is [k, ldb], row-major. n is a multiple of 16, and m and
/// k are arbitrary.
struct GemmF32 {
  using Element = float;
  static constexpr int kDepth = 1;  ///< callers pad k to a multiple of this number
  // Registers hold a block of C with kRows rows and kVectors vectors per row. kRows must divide 32,
  // the number of rows of a tile.
#if defined(__AVX512F__)
  static constexpr int kRows = 8, kVectors = 2;
#else
  static constexpr int kRows = 4, kVectors = 2;
#endif
  static void begin() {}
  static void end() {}

  template <int R, int C>
  static void block(int k, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
                    int64_t ldc, bool accumulate) {
    Vec acc[R][C];
    for (int r = 0; r < R; ++r) {
      for (int j = 0; j < C; ++j) acc[r][j] = accumulate ? load(c + r * ldc + kLanes * j) : Vec{};
    }
    for (int t = 0; t < k; ++t) {
      Vec row[C];
      for (int j = 0; j < C; ++j) row[j] = load(b + t * ldb + kLanes * j);
      for (int r = 0; r < R; ++r) {
        const Vec x = splat(a[r * lda + t]);
        for (int j = 0; j < C; ++j) acc[r][j] = fma(x, row[j], acc[r][j]);
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int j = 0; j < C; ++j) store(c + r * ldc + kLanes * j, acc[r][j]);
    }
  }

  template <int C>
  static void columns(int m, int k, const float* a, int64_t lda, const float* b, int64_t ldb,
                      float* c, int64_t ldc, bool accumulate) {
    int r = 0;
    for (; r + kRows <= m; r += kRows) {
      block<kRows, C>(k, a + r * lda, lda, b, ldb, c + r * ldc, ldc, accumulate);
    }
    for (; r < m; ++r) block<1, C>(k, a + r * lda, lda, b, ldb, c + r * ldc, ldc, accumulate);
  }

  static void run(int m, int n, int k, const float* a, int64_t lda, const float* b, int64_t ldb,
                  float* c, int64_t ldc, bool accumulate) {
    int j = 0;
    for (; j + kLanes * kVectors <= n; j += kLanes * kVectors) {
      columns<kVectors>(m, k, a, lda, b + j, ldb, c + j, ldc, accumulate);
    }
    for (; j < n; j += kLanes) columns<1>(m, k, a, lda, b + j, ldb, c + j, ldc, accumulate);
  }
};

#if defined(__AVX512BF16__)
/// Multiplies bf16 with f32 sums. B is an array [k / 2, ldb] of 32-bit words. Word [i, j] holds the
/// elements of rows 2 i and 2 i + 1 of B in column j. k is a multiple of 2, and n is a multiple of
/// 16.
struct GemmBf16 {
  using Element = uint16_t;
  static constexpr int kDepth = 32;
  static constexpr int kRows = 8, kVectors = 2;
  static void begin() {}
  static void end() {}

  static __m512bh pair(const uint16_t* p) {
    int32_t bits;
    std::memcpy(&bits, p, 4);
    return (__m512bh)_mm512_set1_epi32(bits);
  }

  template <int R, int C>
  static void block(int k, const uint16_t* a, int64_t lda, const uint16_t* b, int64_t ldb, float* c,
                    int64_t ldc, bool accumulate) {
    __m512 acc[R][C];
    for (int r = 0; r < R; ++r) {
      for (int j = 0; j < C; ++j) {
        acc[r][j] = accumulate ? _mm512_loadu_ps(c + r * ldc + 16 * j) : _mm512_setzero_ps();
      }
    }
    for (int t = 0; t < k; t += 2, a += 2) {
      __m512bh row[C];
      for (int j = 0; j < C; ++j) {
        row[j] = (__m512bh)_mm512_loadu_si512(b + t * ldb + 32 * j);
      }
      for (int r = 0; r < R; ++r) {
        const __m512bh x = pair(a + r * lda);
        for (int j = 0; j < C; ++j) acc[r][j] = _mm512_dpbf16_ps(acc[r][j], x, row[j]);
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int j = 0; j < C; ++j) _mm512_storeu_ps(c + r * ldc + 16 * j, acc[r][j]);
    }
  }

  template <int C>
  static void columns(int m, int k, const uint16_t* a, int64_t lda, const uint16_t* b, int64_t ldb,
                      float* c, int64_t ldc, bool accumulate) {
    int r = 0;
    for (; r + kRows <= m; r += kRows) {
      block<kRows, C>(k, a + r * lda, lda, b, ldb, c + r * ldc, ldc, accumulate);
    }
    for (; r < m; ++r) block<1, C>(k, a + r * lda, lda, b, ldb, c + r * ldc, ldc, accumulate);
  }

  static void run(int m, int n, int k, const uint16_t* a, int64_t lda, const uint16_t* b,
                  int64_t ldb, float* c, int64_t ldc, bool accumulate) {
    int j = 0;
    for (; j + 16 * kVectors <= n; j += 16 * kVectors) {
      columns<kVectors>(m, k, a, lda, b + 2 * j, ldb, c + j, ldc, accumulate);
    }
    for (; j < n; j += 16) columns<1>(m, k, a, lda, b + 2 * j, ldb, c + j, ldc, accumulate);
  }
};
#endif

#if defined(__AMX_BF16__)
/// Like GemmBf16, on the matrix unit (AMX). m, n and k are multiples of 32.
struct GemmAmx {
  using Element = uint16_t;
  static constexpr int kDepth = 32;

  static void begin() { load_tile_config(); }
  static void end() { _tile_release(); }

  static void run(int m, int n, int k, const uint16_t* a, int64_t lda, const uint16_t* b,
                  int64_t ldb, float* c, int64_t ldc, bool accumulate) {
    for (int j = 0; j < n; j += 32) {
      for (int i = 0; i < m; i += 32) {
        const uint16_t* rows = a + i * lda;
        const uint16_t* columns = b + 2 * j;
        multiply_tile_pairs(k / 32, {rows, rows + 16 * lda, 2 * lda, 32},
                            {columns, columns + 32, 4 * ldb, 32 * ldb}, c + i * ldc + j, 4 * ldc,
                            accumulate);
      }
    }
  }
};
#endif

}  // namespace longhaul::LH_ISA
