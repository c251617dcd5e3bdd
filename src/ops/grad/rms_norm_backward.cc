#include "ops/grad/rms_norm_backward.h"

#include <algorithm>

#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/grad/row_gradients.h"

namespace longhaul {

void rms_norm_backward(Queue& queue, View<const float> x, View<const float> weight, float eps,
                       View<const float> dy, int64_t rows, int64_t n, View<float> dx, bool add) {
  LH_ASSERT(x.size() == rows * n && dy.size() == x.size() && dx.size() == x.size());
  LH_ASSERT(weight.size() == n);
  if (on_device(kRmsNormBackward, queue, x, weight, eps, dy, rows, n, dx, add)) return;
  HostStage on(queue);
  constexpr int64_t kFloatsPerThread = 16 * 1024;  // fewer are not worth another thread
  const auto kernel = kRowGradients_for(current_isa()).rms_norm;
  const int64_t grain = std::max<int64_t>(1, kFloatsPerThread / std::max<int64_t>(1, n));
  const float* const in = host(on(x)).data();
  const float* const w = host(on(weight)).data();
  const float* const from = host(on(dy)).data();
  float* const to = host(on(dx)).data();
  parallel_ranges(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      kernel(in + r * n, w, eps, from + r * n, n, to + r * n, add ? 1.0f : 0.0f);
    }
  });
}

}  // namespace longhaul
