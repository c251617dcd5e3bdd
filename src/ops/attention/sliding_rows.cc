#include "ops/attention/sliding_rows.h"

#include "base/on_device.h"

namespace longhaul {

void add_transposed(Queue& queue, View<const float> x, int64_t columns, View<float> to) {
  if (x.empty()) return;
  if (on_device(kAddTransposed, queue, x, columns, to)) return;
  HostStage on(queue);
  LH_ASSERT(x.size() == to.size());
  const int64_t rows = x.size() / columns;
  const float* const from = host(on(x)).data();
  float* const sums = host(on(to)).data();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) sums[c * rows + r] += from[r * columns + c];
  }
}

}  // namespace longhaul
