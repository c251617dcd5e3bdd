#pragma once
// Products of f32, f16 and bf16 weight rows with f32 activations, accumulated in f32.

#include "ops/core/isa/prefetch.h"
#include "ops/core/isa/simd.h"
#include "ops/core/isa/small_floats.h"
#include "ops/matmul/matvec_kernels.h"

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

/// Multiplies M rows of x, from `first` on, with all weight rows. Two sums per row hide the
/// latency.
template <class Type, int M>
void plain_rows_of(const MatvecRows& a, int64_t first) {
  const int64_t n = a.cols;
  constexpr int kStep = 2 * kLanes;
  const float* x[M];
  for (int m = 0; m < M; ++m) x[m] = a.x + (first + m) * n;
  for (int64_t r = 0; r < a.rows; ++r) {
    const uint8_t* w = a.weight + static_cast<size_t>(r) * a.row_bytes;
    Vec even[M] = {}, odd[M] = {};
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
      const uint8_t* p = w + i * Type::kBytes;
      prefetch_ahead_of(p, kStep * Type::kBytes);
      const Vec w0 = Type::load_vec(p), w1 = Type::load_vec(p + kLanes * Type::kBytes);
      for (int m = 0; m < M; ++m) {
        even[m] = fma(w0, load(x[m] + i), even[m]);
        odd[m] = fma(w1, load(x[m] + i + kLanes), odd[m]);
      }
    }
    float rest[M] = {};
    for (; i < n; ++i) {
      const float weight = Type::load_one(w + i * Type::kBytes);
      for (int m = 0; m < M; ++m) rest[m] += weight * x[m][i];
    }
    const float bias = a.bias != nullptr ? a.bias[r] : 0.0f;
    for (int m = 0; m < M; ++m) {
      a.y[(first + m) * a.y_stride + r] = reduce_add(even[m] + odd[m]) + rest[m] + bias;
    }
  }
}

template <class Type>
void plain_rows(const MatvecRows& a) {
  int64_t m = 0;
  for (; m + 8 <= a.x_rows; m += 8) plain_rows_of<Type, 8>(a, m);
  if (m + 4 <= a.x_rows) plain_rows_of<Type, 4>(a, m), m += 4;
  if (m + 2 <= a.x_rows) plain_rows_of<Type, 2>(a, m), m += 2;
  if (m < a.x_rows) plain_rows_of<Type, 1>(a, m);
}

}  // namespace
}  // namespace longhaul::LH_ISA
