#include "ops/attention/sliding_rows.h"

#include "ops/core/device_ops.h"

namespace longhaul {

void add_transposed(Queue& queue, View<const float> x, int64_t columns, View<float> to) {
  if (x.empty()) return;
  if (DeviceOps* device = device_ops(queue)) {
    if (device->add_transposed(x, columns, to)) return;
    HostStage on(queue);
    return add_transposed(host_queue(), on(x), columns, on(to));
  }
  LH_ASSERT(x.size() == to.size());
  const int64_t rows = x.size() / columns;
  const float* const from = host(x).data();
  float* const sums = host(to).data();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) sums[c * rows + r] += from[r * columns + c];
  }
}

}  // namespace longhaul
