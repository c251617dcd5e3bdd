#include "ops/cuda/block_layout.h"

#include "base/assert.h"

namespace longhaul::cuda {
namespace {

constexpr BlockField kQ4_0[] = {{2, 16}, {0, 2}};  // and IQ4_NL
constexpr BlockField kQ4_1[] = {{4, 16}, {0, 4}};
constexpr BlockField kQ5_0[] = {{6, 16}, {2, 4}, {0, 2}};
constexpr BlockField kQ5_1[] = {{8, 16}, {4, 4}, {0, 4}};
constexpr BlockField kQ8_0[] = {{2, 32}, {0, 2}};
constexpr BlockField kMXFP4[] = {{1, 16}, {0, 1}};
constexpr BlockField kNVFP4[] = {{4, 32}, {0, 4}};
constexpr BlockField kQ2_K[] = {{16, 64}, {0, 16}, {80, 4}};
constexpr BlockField kQ3_K[] = {{32, 64}, {0, 32}, {96, 12}, {108, 2}};
constexpr BlockField kQ4_K[] = {{16, 128}, {0, 16}};
constexpr BlockField kQ5_K[] = {{48, 128}, {16, 32}, {0, 16}};
constexpr BlockField kQ6_K[] = {{0, 128}, {128, 64}, {192, 16}, {208, 2}};
constexpr BlockField kIQ4_XS[] = {{8, 128}, {0, 8}};

size_t rounded_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

std::span<const BlockField> block_fields(DType type) {
  switch (type) {
    case DType::Q4_0:
    case DType::IQ4_NL:
      return kQ4_0;
    case DType::Q4_1:
      return kQ4_1;
    case DType::Q5_0:
      return kQ5_0;
    case DType::Q5_1:
      return kQ5_1;
    case DType::Q8_0:
      return kQ8_0;
    case DType::MXFP4:
      return kMXFP4;
    case DType::NVFP4:
      return kNVFP4;
    case DType::Q2_K:
      return kQ2_K;
    case DType::Q3_K:
      return kQ3_K;
    case DType::Q4_K:
      return kQ4_K;
    case DType::Q5_K:
      return kQ5_K;
    case DType::Q6_K:
      return kQ6_K;
    case DType::IQ4_XS:
      return kIQ4_XS;
    default:
      return {};
  }
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
