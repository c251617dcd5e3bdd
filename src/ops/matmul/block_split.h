#pragma once
// Splits the blocks of a model file into planes (block_layout.h). Bytes are copied in pairs, or
// singly if the type has fields of odd size.

#include <cstddef>
#include <cstdint>

#include "ops/core/gpu/numbers.h"
#include "ops/matmul/block_layout.h"

namespace longhaul::cuda {

/// Source and destinations of a split. A piece is one T, which has one or two bytes.
template <class T>
struct BlockSplit {
  const T* raw;    ///< blocks as in the model file
  uint32_t count;  ///< number of pieces in all blocks
  uint32_t per_block;
  int fields;
  /// Beginning and size of each field in a block, in pieces.
  uint32_t begin[kMostPlanes], size[kMostPlanes];
  T* plane[kMostPlanes];
};

/// Copies piece i (i < s.count) to its plane.
template <class T>
LH_EVERYWHERE void split_piece(const BlockSplit<T>& s, uint32_t i) {
  const uint32_t block = i / s.per_block, at = i - block * s.per_block;
  for (int f = 0; f < kMostPlanes; ++f) {
    if (f < s.fields && at - s.begin[f] < s.size[f]) {
      s.plane[f][static_cast<size_t>(block) * s.size[f] + (at - s.begin[f])] = s.raw[i];
    }
  }
}

inline bool splits_by_pairs(DType type) { return traits(type).block_bytes % 2 == 0; }

/// Returns the split of `bytes` bytes of blocks at `raw`. In the planes, the first of these blocks
/// becomes block number first_block.
template <class T>
BlockSplit<T> block_split(DType type, const void* raw, size_t bytes, int64_t first_block,
                          const std::byte* const* planes) {
  constexpr uint32_t kSize = sizeof(T);
  BlockSplit<T> s{};
  s.raw = static_cast<const T*>(raw);
  s.count = static_cast<uint32_t>(bytes / kSize);
  s.per_block = static_cast<uint32_t>(traits(type).block_bytes) / kSize;
  for (const BlockField& field : block_fields(type)) {
    s.begin[s.fields] = static_cast<uint32_t>(field.offset) / kSize;
    s.size[s.fields] = static_cast<uint32_t>(field.bytes) / kSize;
    auto* const plane = const_cast<std::byte*>(planes[s.fields]) + first_block * field.bytes;
    s.plane[s.fields++] = reinterpret_cast<T*>(plane);
  }
  return s;
}

}  // namespace longhaul::cuda
