#include "ops/core/layer_norm.h"

#include <cmath>

#include "base/on_device.h"

namespace longhaul {

void layer_norm(const float* x, const float* weight, float eps, int64_t rows, int64_t n, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    const double mean = sum / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const auto scale = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(n) + eps));
    const auto middle = static_cast<float>(mean);
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - middle) * scale * weight[i];
  }
}

void layer_norm(Queue& queue, View<const float> x, View<const float> weight, float eps,
                int64_t rows, int64_t n, View<float> y) {
  if (on_device(kLayerNorm, queue, x, weight, eps, rows, n, y)) return;
  HostStage on(queue);
  const View<float> to = on(y);
  layer_norm(on(x).address(), on(weight).address(), eps, rows, n, to.address());
}

}  // namespace longhaul
