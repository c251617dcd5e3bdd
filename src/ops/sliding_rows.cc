#include "ops/sliding_rows.h"

namespace longhaul {

void SlidingRows::append_zeros(Queue&, int64_t rows) {
  LH_ASSERT(rows >= 0);
  numbers_.resize(numbers_.size() + static_cast<size_t>(rows * width_));
}

void SlidingRows::drop_first(Queue&, int64_t rows) {
  LH_ASSERT(rows >= 0 && rows * width_ <= numbers());
  numbers_.erase(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(rows * width_));
}

void add_transposed(Queue& queue, View<const float> x, int64_t columns, View<float> to) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return add_transposed(host_queue(), on(x), columns, on(to));
  }
  LH_ASSERT(x.size() == to.size());
  if (x.empty()) return;
  const int64_t rows = x.size() / columns;
  const float* const from = host(x).data();
  float* const sums = host(to).data();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) sums[c * rows + r] += from[r * columns + c];
  }
}

}  // namespace longhaul
