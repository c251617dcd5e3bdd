#include "ops/attention/stored_key.h"

#include <cstring>

#include "ops/core/convert.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {

void write_row(DType type, bool key, const float* x, int64_t count, std::byte* row) {
  switch (type) {
    case DType::F32:
      std::memcpy(row, x, static_cast<size_t>(count) * sizeof(float));
      break;
    case DType::F16:
      f32_to_f16(x, count, reinterpret_cast<f16_t*>(row));
      break;
    case DType::BF16:
      f32_to_bf16(x, count, reinterpret_cast<bf16_t*>(row));
      break;
    case DType::Q8_0:
      quantize_q8_0(x, count, row);
      break;
    default: {
      LH_ASSERT(type == DType::Q4_0);
      if (!key) return quantize_q4_0(x, count, row);
      for (int64_t i = 0; i < count; i += 32) {
        float block[32];
        std::memcpy(block, x + i, sizeof block);
        mix_blocks(block, 32);
        quantize_q4_0(block, 32, row + bytes_of(type, i));
      }
    }
  }
}

void read_row(DType type, bool key, const std::byte* row, int64_t count, float* x) {
  dequantize_row(type, row, count, x);
  if (key && type == kHadamardKeys) mix_blocks(x, count);
}

void read_key(const PagedRows& rows, int64_t row, float* key) {
  const std::byte* const page = rows.pages[row / rows.page_rows];
  LH_ASSERT(page != nullptr);
  const std::byte* const from = page + static_cast<size_t>(row % rows.page_rows) * rows.key_bytes();
  read_row(rows.type.k, true, from, rows.head_dim, key);
}

}  // namespace longhaul
