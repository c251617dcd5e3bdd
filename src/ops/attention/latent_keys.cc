#include "ops/attention/latent_keys.h"

#include <algorithm>

#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/rms_norm.h"

namespace longhaul {

void latent_keys(Queue& queue, const LatentKeys& shape, View<const float> products,
                 View<const float> weight, View<float> keys) {
  if (shape.rows == 0) return;
  if (on_device(kLatentKeys, queue, shape, products, weight, keys)) return;
  HostStage on(queue);
  float* const to = on(keys).address();
  const float *const from = on(products).address(), *const scale = on(weight).address();
  const int64_t width = shape.rank + shape.rope;
  parallel_ranges(shape.rows, 8, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* const x = from + r * width;
      std::copy_n(x + shape.rank, shape.rope, to + r * width);
      rms_norm(x, scale, shape.eps, 1, shape.rank, to + r * width + shape.rope);
    }
  });
}

}  // namespace longhaul
