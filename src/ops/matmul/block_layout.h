#pragma once
// How a quantized matrix lies in device memory: each field of a block (quants, high bits, scales)
// in a plane of its own, so that threads read 16 aligned bytes where a file's blocks allow 2. No
// value changes and no byte is added but up to 255 between planes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace longhaul::cuda {

/// Bytes [offset, offset + bytes) of each block.
struct BlockField {
  int offset;
  int bytes;
};

inline constexpr int kMostPlanes = 4;

/// The fields of a type's block in the order of its planes, the quants first. Empty for plain types
/// and for types that the device does not know.
std::span<const BlockField> block_fields(DType type);

/// Whether device code reads this type.
bool on_device(DType type);

/// Where the planes of [rows, cols] begin, counted from the first; `bytes` of them all. Plain types
/// have one plane, whose rows are `row_stride` bytes apart: a multiple of 16, zeros at the end.
struct PlaneLayout {
  std::array<size_t, kMostPlanes> offset{};
  int planes = 0;
  size_t row_stride = 0;  ///< of the first plane
  size_t bytes = 0;
};

PlaneLayout plane_layout(DType type, int64_t rows, int64_t cols);

}  // namespace longhaul::cuda
