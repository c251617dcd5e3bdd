#include "ops/core/swiglu.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/core/row_kernels.h"

namespace longhaul {
namespace {

constexpr int64_t kGateFloatsPerThread = 16 * 1024;  // fewer are not worth another thread

template <class Kernel, class Out>
void each_row(Kernel kernel, const Gating& gating, const float* gate, const float* up, int64_t rows,
              int64_t n, int64_t stride, Out* y) {
  const int64_t grain = std::max<int64_t>(1, kGateFloatsPerThread / std::max<int64_t>(1, n));
  parallel_ranges(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      kernel(gating, gate + r * stride, up + r * stride, n, y + r * n);
    }
  });
}

}  // namespace

void swiglu(const float* gate, const float* up, int64_t rows, int64_t n, int64_t stride, float* y,
            const Gating& gating) {
  each_row(kSwiglu_for(current_isa()).f32, gating, gate, up, rows, n, stride, y);
}

void swiglu(const float* gate, const float* up, int64_t rows, int64_t n, int64_t stride, bf16_t* y,
            const Gating& gating) {
  each_row(kSwiglu_for(current_isa()).bf16, gating, gate, up, rows, n, stride, y);
}

}  // namespace longhaul
