#include "ops/matmul/block_layout.h"

#include "base/assert.h"
#include "ops/matmul/block_units.h"

namespace longhaul::cuda {
namespace {

size_t rounded_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

std::span<const BlockField> block_fields(DType type) {
  std::span<const BlockField> fields;
  with_units(type, [&](auto units) { fields = decltype(units)::kFields; });
  return fields;
}

bool on_device(DType type) { return !is_block_type(type) || !block_fields(type).empty(); }

PlaneLayout plane_layout(DType type, int64_t rows, int64_t cols) {
  LH_ASSERT(rows >= 0 && cols >= 0 && on_device(type));
  PlaneLayout layout;
  const auto count = static_cast<size_t>(rows);
  if (!is_block_type(type)) {
    layout.planes = 1;
    layout.row_stride = rounded_up(bytes_of(type, cols), 16);
    layout.bytes = count * layout.row_stride;
    return layout;
  }
  const size_t blocks = bytes_of(type, cols) / static_cast<size_t>(traits(type).block_bytes);
  size_t end = 0;
  for (const BlockField& field : block_fields(type)) {
    const size_t row_bytes = blocks * static_cast<size_t>(field.bytes);
    if (layout.planes == 0) layout.row_stride = row_bytes;
    const size_t begin = rounded_up(end, 256);
    layout.offset[static_cast<size_t>(layout.planes++)] = begin;
    end = begin + count * row_bytes;
  }
  layout.bytes = end;
  return layout;
}

}  // namespace longhaul::cuda
