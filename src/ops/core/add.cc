#include "ops/core/add.h"

#include <algorithm>

#include "base/parallel.h"

namespace longhaul {
namespace {

constexpr int64_t kFloatsPerThread = 32 * 1024;  // fewer are not worth another thread

void add_row(float* y, const float* x, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

int64_t grain(int64_t n) {
  return std::max<int64_t>(1, kFloatsPerThread / std::max<int64_t>(1, n));
}

}  // namespace

void add(float* y, const float* x, int64_t rows, int64_t n, const float* bias) {
  parallel_ranges(rows, grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      add_row(y + r * n, x + r * n, n);
      if (bias != nullptr) add_row(y + r * n, bias, n);
    }
  });
}

void add_scaled(float* y, const float* x, int64_t count, float scale) {
  parallel_ranges(count, kFloatsPerThread, [&](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] += scale * x[i];
  });
}

void add_bias(float* y, const float* bias, int64_t rows, int64_t n, int64_t stride) {
  parallel_ranges(rows, grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) add_row(y + r * stride, bias, n);
  });
}

}  // namespace longhaul
