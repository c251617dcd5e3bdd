#include "ops/core/columns.h"

#include <algorithm>

#include "base/on_device.h"
#include "base/parallel.h"

namespace longhaul {

void copy_row_columns(Queue& queue, const RowColumns<const float>& from,
                      const RowColumns<float>& to, int64_t rows, int64_t count) {
  if (rows == 0 || count == 0) return;
  LH_ASSERT((rows - 1) * from.stride + count <= from.numbers.size());
  LH_ASSERT((rows - 1) * to.stride + count <= to.numbers.size());
  if (on_device(kCopyRowColumns, queue, from, to, rows, count)) return;
  HostStage on(queue);
  float* const y = on(to.numbers).address();
  const float* const x = on(from.numbers).address();
  parallel_ranges(rows, 64, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      std::copy_n(x + r * from.stride, count, y + r * to.stride);
  });
}

void multiply_columns(Queue& queue, View<const float> factors, View<float> x) {
  const int64_t width = factors.size();
  LH_ASSERT(width > 0 && x.size() % width == 0);
  if (on_device(kMultiplyColumns, queue, factors, x)) return;
  HostStage on(queue);
  float* const y = on(x).address();
  const float* const by = on(factors).address();
  parallel_ranges(x.size() / width, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t i = 0; i < width; ++i) y[r * width + i] *= by[i];
    }
  });
}

}  // namespace longhaul
