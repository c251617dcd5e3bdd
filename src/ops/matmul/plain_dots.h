#pragma once
// Multiplies weight rows in f32, f16 or bf16 by f32 activations, with f32 sums.

#include "ops/core/isa/prefetch.h"
#include "ops/core/isa/simd.h"
#include "ops/core/isa/small_floats.h"
#include "ops/matmul/matvec_kernels.h"
#include "ops/matmul/plain_row_sums.h"

namespace longhaul::LH_ISA {
namespace {

struct F32Weights {
  static constexpr int kBytes = 4;
  static Vec load_vec(const uint8_t* p) { return load(reinterpret_cast<const float*>(p)); }
  static float load_one(const uint8_t* p) { return float_from_bits(load_u32(p)); }
};

struct F16Weights {
  static constexpr int kBytes = 2;
  static Vec load_vec(const uint8_t* p) {
    return LH_ISA::load_f16(reinterpret_cast<const uint16_t*>(p));
  }
  static float load_one(const uint8_t* p) { return load_f16(p); }
};

struct BF16Weights {
  static constexpr int kBytes = 2;
  static Vec load_vec(const uint8_t* p) { return load_bf16(reinterpret_cast<const uint16_t*>(p)); }
  static float load_one(const uint8_t* p) {
    return float_from_bits(static_cast<uint32_t>(load_u16(p)) << 16);
  }
};

/// Keeps the compiler from loading v again for each use.
[[gnu::always_inline]] inline void keep_in_register(Vec& v) {
#ifdef __AVX512F__
  asm("" : "+v"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#else
  asm("" : "+x"(v));
#endif
}

/// Multiplies weight rows [r, r + W) by rows [first, first + M) of x. Each dot product has two
/// partial sums, which hides the latency of additions. The order of additions does not depend on W
/// and M.
template <class Type, int W, int M>
[[gnu::always_inline]] inline void plain_products(const MatvecRows& a, int64_t r, int64_t first) {
  const int64_t n = a.cols;
  constexpr int kStep = 2 * kLanes;
  const uint8_t* w[W];
  const float* x[M];
  for (int i = 0; i < W; ++i) w[i] = a.weight + static_cast<size_t>(r + i) * a.row_bytes;
  for (int m = 0; m < M; ++m) x[m] = a.x + (first + m) * n;
  Vec even[W][M] = {}, odd[W][M] = {};
  int64_t k = 0;
  for (; k + kStep <= n; k += kStep) {
    Vec w0[W], w1[W];
    for (int i = 0; i < W; ++i) {
      const uint8_t* p = w[i] + k * Type::kBytes;
      prefetch_ahead_of(p, kStep * Type::kBytes);
      w0[i] = Type::load_vec(p);
      w1[i] = Type::load_vec(p + kLanes * Type::kBytes);
    }
    for (int m = 0; m < M; ++m) {
      Vec x0 = load(x[m] + k), x1 = load(x[m] + k + kLanes);
      if constexpr (W > 1) keep_in_register(x0), keep_in_register(x1);
      for (int i = 0; i < W; ++i) {
        even[i][m] = fma(w0[i], x0, even[i][m]);
        odd[i][m] = fma(w1[i], x1, odd[i][m]);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < W; ++i) {
    const float bias = a.bias != nullptr ? a.bias[r + i] : 0.0f;
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      float rest = 0;
      for (int64_t t = k; t < n; ++t) {
        rest = fixed_multiply_add(Type::load_one(w[i] + t * Type::kBytes), x[m][t], rest);
      }
      a.y[(first + m) * a.y_stride + r + i] = reduce_add(even[i][m] + odd[i][m]) + rest + bias;
    }
  }
}

/// Numbers of weight rows and of rows of x that are multiplied together. They are so small that all
/// sums fit into the registers. If x has more rows, the weight rows are read again from the L1
/// cache.
#if defined(__AVX512F__)
inline constexpr int kWeightRowsAtOnce = 2, kRowsOfXAtOnce = 4;
#else
inline constexpr int kWeightRowsAtOnce = 2, kRowsOfXAtOnce = 2;
#endif

template <class Type, int W>
[[gnu::always_inline]] inline void plain_products_of_all(const MatvecRows& a, int64_t r) {
  int64_t m = 0;
  for (; m + kRowsOfXAtOnce <= a.x_rows; m += kRowsOfXAtOnce) {
    plain_products<Type, W, kRowsOfXAtOnce>(a, r, m);
  }
  if constexpr (kRowsOfXAtOnce > 2) {
    if (m + 3 == a.x_rows) return plain_products<Type, W, 3>(a, r, m);
    if (m + 2 == a.x_rows) return plain_products<Type, W, 2>(a, r, m);
  }
  if (m < a.x_rows) plain_products<Type, W, 1>(a, r, m);
}

template <class Type>
void plain_rows(const MatvecRows& a) {
  int64_t r = 0;
  if (a.x_rows > 1) {
    for (; r + kWeightRowsAtOnce <= a.rows; r += kWeightRowsAtOnce) {
      plain_products_of_all<Type, kWeightRowsAtOnce>(a, r);
    }
  }
  for (; r < a.rows; ++r) plain_products_of_all<Type, 1>(a, r);
}

}  // namespace
}  // namespace longhaul::LH_ISA
