#include "ops/core/mean_rows.h"

#include <algorithm>

#include "ops/core/device_ops.h"

namespace longhaul {

void mean_rows(Queue& queue, View<const float> x, View<float> out) {
  if (DeviceOps* device = device_ops(queue)) {
    if (device->mean_rows(x, out)) return;
    HostStage on(queue);
    return mean_rows(host_queue(), on(x), on(out));
  }
  LH_ASSERT(!x.empty() && x.size() % out.size() == 0);
  const std::span<const float> from = host(x);
  const std::span<float> mean = host(out);
  std::fill(mean.begin(), mean.end(), 0.0f);
  for (size_t row = 0; row < from.size(); row += mean.size()) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += from[row + i];
  }
  for (float& each : mean) each /= static_cast<float>(x.size() / out.size());
}

}  // namespace longhaul
