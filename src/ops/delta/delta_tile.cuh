#pragma once
// Multiplies bf16 tiles in shared memory, with one warp. Consecutive rows of a tile begin `stride`
// elements apart. The stride is 8 more than a multiple of 16, so that loads of fragments have no
// bank conflicts.

#include "ops/core/gpu/mma.cuh"
#include "ops/delta/delta.gpu.h"

namespace longhaul::cuda {

/// Loads a left operand of 16 x 16 elements. It begins at row m and column k of a tile that is
/// stored as [m, k].
__device__ __forceinline__ void load_a(uint32_t (&a)[4], const uint16_t* tile, int stride, int m,
                                       int k) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
  load_matrices(
      a, shared_address(tile + (m + matrix % 2 * 8 + lane % 8) * stride + k + matrix / 2 * 8));
}
/// Like load_a(), for a tile that is stored transposed, as [k, m].
__device__ __forceinline__ void load_a_turned(uint32_t (&a)[4], const uint16_t* tile, int stride,
                                              int m, int k) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
  load_transposed(
      a, shared_address(tile + (k + matrix / 2 * 8 + lane % 8) * stride + m + matrix % 2 * 8));
}
/// Loads two right operands of 16 x 8 elements, which begin at row k. b[0] and b[1] have columns n
/// to n + 7, and b[2] and b[3] have columns n + 8 to n + 15. The tile is stored transposed, as [n,
/// k].
__device__ __forceinline__ void load_b_turned(uint32_t (&b)[4], const uint16_t* tile, int stride,
                                              int k, int n) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
  load_matrices(
      b, shared_address(tile + (n + matrix / 2 * 8 + lane % 8) * stride + k + matrix % 2 * 8));
}
/// Like load_b_turned(), for a tile that is stored as [k, n].
__device__ __forceinline__ void load_b(uint32_t (&b)[4], const uint16_t* tile, int stride, int k,
                                       int n) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
  load_transposed(
      b, shared_address(tile + (k + matrix % 2 * 8 + lane % 8) * stride + n + matrix / 2 * 8));
}

/// Starts the copy of `count` rows of `columns` bf16 elements to a tile, and fills the tile with
/// zeros up to `rows` rows. All threads of the thread block must call it.
template <int kThreads>
__device__ __forceinline__ void copy_tile(uint16_t* tile, int stride, const uint16_t* from,
                                          int64_t from_stride, int rows, int columns, int count) {
  const int runs = columns / 8;
  for (int i = threadIdx.x; i < rows * runs; i += kThreads) {
    const int row = i / runs, column = i % runs * 8;
    const bool present = row < count;
    copy_16(shared_address(tile + row * stride + column),
            from + (present ? row * from_stride + column : 0), present);
  }
}

}  // namespace longhaul::cuda
