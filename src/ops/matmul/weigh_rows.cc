#include "ops/matmul/weigh_rows.h"

#include <algorithm>
#include <cmath>

#include "base/on_device.h"

namespace longhaul {

void weigh_rows(Queue& queue, View<const float> logits, View<const float> x, int64_t rows,
                View<float> y) {
  if (rows == 0) return;
  LH_ASSERT(logits.size() % rows == 0 && x.size() % rows == 0 && x.size() == y.size());
  if (on_device(kWeighRows, queue, logits, x, rows, y)) return;
  HostStage on(queue);
  float* const to = on(y).address();
  const float *const scores = on(logits).address(), *const from = on(x).address();
  const int64_t experts = logits.size() / rows, n = x.size() / rows;
  for (int64_t r = 0; r < rows; ++r) {
    const float* const own = scores + r * experts;
    const float weight = 1.0f / (1.0f + std::exp(-*std::max_element(own, own + experts)));
    for (int64_t i = r * n; i < (r + 1) * n; ++i) to[i] = weight * from[i];
  }
}

}  // namespace longhaul
