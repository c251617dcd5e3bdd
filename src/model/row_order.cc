#include "model/row_order.h"

#include <cstring>

#include "base/assert.h"
#include "base/nth.h"
#include "base/parallel.h"

namespace longhaul {

RowOrder halves_from_pairs(int64_t rows, int head_dim, int rotary_dim) {
  LH_ASSERT(head_dim > 0 && rows % head_dim == 0 && rotary_dim % 2 == 0 && rotary_dim <= head_dim);
  const int64_t half = rotary_dim / 2;
  RowOrder order;
  order.reserve(static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t t = r % head_dim, head = r - t;
    order.push_back(t >= rotary_dim ? r : t < half ? head + 2 * t : head + 2 * (t - half) + 1);
  }
  return order;
}

std::vector<std::byte> reordered(const TensorView& rows, const RowOrder& order) {
  LH_ASSERT(std::ssize(order) <= rows.rows());
  const size_t bytes = rows.row_bytes();
  std::vector<std::byte> copy(order.size() * bytes);
  parallel_ranges(std::ssize(order), 256, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      std::memcpy(copy.data() + static_cast<size_t>(r) * bytes, rows.row(nth(order, r)), bytes);
    }
  });
  return copy;
}

}  // namespace longhaul
