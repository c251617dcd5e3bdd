#include "ops/attention/row_window.h"

#include <algorithm>
#include <utility>

#include "ops/core/fill.h"

namespace longhaul {

void RowWindow::push(Queue& queue, View<const float> fresh, int64_t rows, int64_t width,
                     int64_t most) {
  const int64_t taken = std::min(rows, most);
  const int64_t kept = std::min(rows_, most - taken);
  const View<float> to = spare_.resize(queue, (kept + taken) * width);
  copy(queue, numbers_.view().part((rows_ - kept) * width, kept * width), to.part(0, kept * width));
  copy(queue, fresh.part((rows - taken) * width, taken * width), to.from(kept * width));
  std::swap(numbers_, spare_);
  rows_ = kept + taken;
}

void RowWindow::drop_last(int64_t rows, int64_t width) {
  rows_ -= rows;
  numbers_.shrink(rows_ * width);
}

}  // namespace longhaul
