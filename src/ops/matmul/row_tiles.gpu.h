#pragma once
// y = W x for 5 to 64 rows of x, which read the stored weights once. As in products of prefill, x
// and weights are rounded to bf16 and sums are f32. A block's scale and offset are rounded to bf16
// as well. The order of the sums depends on the matrices and the device, not on the number of rows,
// so a row gives the same bits in any such batch.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/matmul/matvec.gpu.h"

namespace longhaul::cuda {

/// Fewer rows are multiplied as fast by matvec(). On one H200 a step of an 8B shape in Q8_0 took
/// 5.2 ms in tiles of int8 and 6.2 ms without for 5 rows, and 6.0 and 6.9 ms for 8 rows.
inline constexpr int64_t kLeastTileRows = 5;
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

/// Multiplies up to kMostMatvecJobs matrices of one type by the same x, which is bf16.
/// Weights are read before the last queued kernel has ended: it must not have written them.
void multiply_tiles(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs,
                    float* partial, int* counters);

}  // namespace longhaul::cuda
