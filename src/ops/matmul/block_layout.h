#pragma once
// Layout of a quantized matrix in device memory. Blocks in files are aligned to 2 bytes only. On
// the device, each field of a block (quants, high bits, scales) therefore has its own plane, so
// that threads can load 16 aligned bytes. Values do not change. The layout adds at most 255 bytes
// between two planes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace longhaul::cuda {

/// A field of a block: bytes [offset, offset + bytes).
struct BlockField {
  int offset;
  int bytes;
};

inline constexpr int kMostPlanes = 4;

/// Returns the fields of a block in the order of the planes, beginning with the quants. The result
/// is empty for plain types and for types that device code does not support.
std::span<const BlockField> block_fields(DType type);

/// Returns whether device code can read `type`.
bool on_device(DType type);

/// The byte offsets of the planes of a [rows, cols] matrix from the start of the first plane. Plain
/// types have one plane, whose rows are `row_stride` bytes apart. The stride is a multiple of 16,
/// and the padding is zeros.
struct PlaneLayout {
  std::array<size_t, kMostPlanes> offset{};
  int planes = 0;
  size_t row_stride = 0;  ///< byte offset from the first plane
  size_t bytes = 0;
};

PlaneLayout plane_layout(DType type, int64_t rows, int64_t cols);

}  // namespace longhaul::cuda
