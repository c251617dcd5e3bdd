#pragma once
// y = W x for 9 to 64 rows of x, which read the stored weights once. The arithmetic is that of
// ops/matmul/matvec.h: x is rounded to int8 in blocks of 32, products of a block are exact
// integers, and blocks are summed in f32. The order of the sums depends on the matrices and the
// device, not on the number of rows, so a row gives the same bits in any such batch.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/matmul/matvec.gpu.h"

namespace longhaul::cuda {

inline constexpr int64_t kMostTileRows = 64;

/// Returns whether the type has such a product (blocks of 32 with a scale, and K types) and the
/// current device has the shared memory for it.
bool multiplies_in_tiles(DType type, int64_t rows);

/// Memory of a call whose columns are divided among thread blocks.
struct TileRoom {
  size_t floats = 0;    ///< partial results
  size_t counters = 0;  ///< zeros before and after the call
};
TileRoom tile_room(const MatvecInput& x, std::span<const MatvecJob> jobs);

/// Multiplies up to kMostMatvecJobs matrices of one type by the same x, whose int8 form is set.
/// Weights are read before the last queued kernel has ended: it must not have written them.
void multiply_tiles(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs,
                    float* partial, int* counters);

}  // namespace longhaul::cuda
