#include "ops/row_window.h"

#include <algorithm>
#include <utility>

namespace longhaul {

void RowWindow::push(Queue& queue, View<const float> fresh, int64_t rows, int64_t width,
                     int64_t most) {
  const int64_t taken = std::min(rows, most);
  const int64_t kept = std::min(rows_, most - taken);
  const std::span<float> to = host(spare_.resize(queue, (kept + taken) * width));
  const std::span<const float> from = host(numbers_.view()), add = host(fresh);
  std::copy_n(from.begin() + (rows_ - kept) * width, kept * width, to.begin());
  std::copy_n(add.begin() + (rows - taken) * width, taken * width, to.begin() + kept * width);
  std::swap(numbers_, spare_);
  rows_ = kept + taken;
}

void RowWindow::drop_last(int64_t rows, int64_t width) {
  rows_ -= rows;
  numbers_.resize(host_queue(), rows_ * width);  // no more than before: what is there stays
}

}  // namespace longhaul
