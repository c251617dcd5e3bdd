#pragma once
// Computes y = W x for 5 to 64 rows of x. The stored weights are read once for all rows. As in
// prefill products, x and weights are rounded to bf16, and sums are f32. The scale and offset of a
// block are rounded to bf16 as well. The order of additions depends on the matrices and the device,
// but not on the number of rows. A row therefore gets bitwise the same result in any such batch.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/matmul/matvec.gpu.h"

namespace longhaul::cuda {

/// With fewer rows, matvec() is as fast. On one H200, a decode step of an 8B model shape in Q8_0
/// with 5 rows took 5.2 ms with tiles and 6.2 ms without. With 8 rows, it took 6.0 and 6.9 ms.
inline constexpr int64_t kLeastTileRows = 5;
inline constexpr int64_t kMostTileRows = 64;
/// On Hopper, so many rows use the kernel of row_tiles_sm90.cuh, which computes the same bits.
inline constexpr int64_t kLeastRowsSm90 = 17;

/// Returns whether the type has such a product and the current device has enough shared memory for
/// it. The K types, and types with a scale for every 32 weights, have such a product.
bool multiplies_in_tiles(DType type, int64_t rows);

/// Division of a call among thread blocks, which does not depend on the number of rows, and the
/// memory that the call needs if the columns are divided.
struct TilePlan {
  int tiles = 0, parts = 0, chunks_per_part = 0;
  size_t floats = 0;    ///< number of floats for partial results
  size_t counters = 0;  ///< number of counters, which are zeros before and after the call
};
TilePlan tile_plan(const MatvecInput& x, std::span<const MatvecJob> jobs);

/// Multiplies up to kMostMatvecJobs matrices of one type by the same x, which is bf16. Weights are
/// read before the last queued kernel has ended, so this kernel must not have written them.
void multiply_tiles(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs,
                    const TilePlan& plan, float* partial, int* counters);

}  // namespace longhaul::cuda
