#pragma once
// Layout of a quantized matrix in device memory. Blocks in files are aligned to 2 bytes only. On
// the device, each field of a block (the quants, which are the stored integers, their high bits,
// and the scales) therefore has its own plane, so that threads can load 16 aligned bytes. The bytes
// of the fields do not change. Between two planes, at most 255 bytes are unused.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace longhaul::cuda {

/// A field of a block: its bytes [offset, offset + bytes).
struct BlockField {
  int offset;
  int bytes;
};

inline constexpr int kMostPlanes = 4;

/// Returns the fields of a block in the order of the planes. The first field is the quants. The
/// result is empty for types without blocks and for types that device code cannot read.
std::span<const BlockField> block_fields(DType type);

/// Returns whether device code can read matrices of this type.
bool on_device(DType type);

/// The byte offsets of the planes of a matrix [rows, cols]. They are relative to the start of the
/// first plane. Types without blocks have one plane, in which consecutive rows begin `row_stride`
/// bytes apart. The stride is a multiple of 16, and the padding is zeros.
struct PlaneLayout {
  std::array<size_t, kMostPlanes> offset{};
  int planes = 0;
  size_t row_stride = 0;  ///< bytes between the beginnings of two rows of the first plane
  size_t bytes = 0;
};

PlaneLayout plane_layout(DType type, int64_t rows, int64_t cols);

}  // namespace longhaul::cuda
