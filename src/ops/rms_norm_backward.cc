#include "ops/rms_norm_backward.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/cpu/row_gradients.h"

namespace longhaul {

void rms_norm_backward(const float* x, const float* weight, float eps, const float* dy,
                       int64_t rows, int64_t n, float* dx, bool add) {
  constexpr int64_t kFloatsPerThread = 16 * 1024;  // less is not worth waking a thread for
  const auto kernel = kRowGradients_for(current_isa()).rms_norm;
  const int64_t grain = std::max<int64_t>(1, kFloatsPerThread / std::max<int64_t>(1, n));
  parallel_ranges(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      kernel(x + r * n, weight, eps, dy + r * n, n, dx + r * n, add ? 1.0f : 0.0f);
    }
  });
}

}  // namespace longhaul
