#include "ops/stored_key.h"

#include "ops/dequantize.h"

namespace longhaul {

void read_key(const PagedRows& rows, int64_t row, float* key) {
  const std::byte* const page = rows.pages[row / rows.page_rows];
  LH_ASSERT(page != nullptr);
  const int64_t dim = rows.head_dim;
  const std::byte* const from = page + static_cast<size_t>(row % rows.page_rows) * rows.key_bytes();
  dequantize_row(rows.type.k, from, dim, key);
}

}  // namespace longhaul
