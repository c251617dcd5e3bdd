#include "ops/stored_key.h"

#include <cstring>

#include "ops/convert.h"

namespace longhaul {

void read_key(const PagedRows& rows, int64_t row, float* key) {
  const std::byte* const page = rows.pages[row / rows.page_rows];
  LH_ASSERT(page != nullptr);
  const int64_t dim = rows.head_dim;
  const std::byte* const from =
      page + static_cast<size_t>(row % rows.page_rows) * bytes_of(rows.type, dim);
  switch (rows.type) {
    case DType::F32:
      std::memcpy(key, from, static_cast<size_t>(dim) * sizeof(float));
      break;
    case DType::F16:
      f16_to_f32(reinterpret_cast<const f16_t*>(from), dim, key);
      break;
    case DType::BF16:
      bf16_to_f32(reinterpret_cast<const bf16_t*>(from), dim, key);
      break;
    default:
      LH_ASSERT(rows.type == DType::Q8_0);
      dequantize_q8_0(from, dim, key);
      break;
  }
}

}  // namespace longhaul
