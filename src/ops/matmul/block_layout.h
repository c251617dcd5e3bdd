#pragma once
// Layout of a quantized matrix in device memory. Each field of a block (quants, high bits, scales)
// has a plane of its own, so that threads can load 16 aligned bytes. Blocks in files are aligned to
// 2 bytes only. No value changes. The only extra bytes are up to 255 between planes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace longhaul::cuda {

/// A field: bytes [offset, offset + bytes) of each block.
struct BlockField {
  int offset;
  int bytes;
};

inline constexpr int kMostPlanes = 4;

/// Returns the fields of a block in the order of the planes. The quants are the first. The result
/// is empty for plain types and for types that device code does not support.
std::span<const BlockField> block_fields(DType type);

/// Returns whether device code reads `type`.
bool on_device(DType type);

/// Places of the planes of a [rows, cols] matrix, in bytes from the begin of the first plane. Plain
/// types have one plane with rows `row_stride` bytes apart. The stride is a multiple of 16, padded
/// with zeros.
struct PlaneLayout {
  std::array<size_t, kMostPlanes> offset{};
  int planes = 0;
  size_t row_stride = 0;  ///< byte offset from the first plane
  size_t bytes = 0;
};

PlaneLayout plane_layout(DType type, int64_t rows, int64_t cols);

}  // namespace longhaul::cuda
