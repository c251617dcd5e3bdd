#pragma once
// Assigns the arrays of a kernel to its scratch memory. One definition yields both the total size
// and the addresses. Include this only in *.isa.cc files, which are compiled once per instruction
// set.

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention_kernels.h"

namespace longhaul::LH_ISA {

static inline int round_up(int n, int to) { return (n + to - 1) / to * to; }

/// Assigns memory to arrays one after the other, each aligned to 64 bytes. If constructed with a
/// null address, it only computes the total size, and the arrays must not be used.
class ScratchLayout {
 public:
  explicit ScratchLayout(std::byte* memory) : address_(reinterpret_cast<uintptr_t>(memory)) {}

  template <class T>
  void take(T*& array, size_t count) {
    array = reinterpret_cast<T*>(address_ + bytes_);
    bytes_ += (count * sizeof(T) + 63) / 64 * 64;
  }

  size_t bytes() const { return bytes_; }

 private:
  uintptr_t address_;
  size_t bytes_ = 0;
};

/// Returns the size in bytes of the scratch memory of an S constructed with `arguments`. S is a
/// struct of scratch arrays, such as TileScratch.
template <class S, class... Arguments>
size_t bytes_of(const Arguments&... arguments) {
  ScratchLayout layout(nullptr);
  S(layout, arguments...);
  return layout.bytes();
}

struct TileCounts {
  int query_rows, key_blocks, score_tiles;
};

/// The scratch arrays that all kernels over tiles of query rows and keys have. E is the element
/// type of the operands of their matrix products.
template <class E>
struct TileScratch {
  E* queries;        ///< [query_rows, dim]; dim is head_dim rounded up to a multiple of 32
  E* keys;           ///< packed blocks of keys, [key_blocks][dim, kTileKeys]
  E* unpacked_rows;  ///< [32, dim], scratch memory of pack() (ops/attention/pack_block.h)
  float* scores;     ///< [score_tiles][kTileRows, kTileKeys]

  TileScratch(ScratchLayout& layout, int head_dim, const TileCounts& counts) {
    const size_t dim = static_cast<size_t>(round_up(head_dim, 32));
    layout.take(queries, static_cast<size_t>(counts.query_rows) * dim);
    layout.take(keys, static_cast<size_t>(counts.key_blocks) * kTileKeys * dim);
    layout.take(unpacked_rows, 32 * dim);
    layout.take(scores, static_cast<size_t>(counts.score_tiles) * kTileRows * kTileKeys);
  }
};

}  // namespace longhaul::LH_ISA
