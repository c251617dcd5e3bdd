#pragma once
// Computes y = W x for 5 to 64 rows of x. The stored weights are read once for all rows. As in
// prefill products, x and the weights are rounded to bf16, and sums are f32. The scale and the
// offset of a block are rounded to bf16 as well. The order of additions depends on the matrices and
// the device, but not on the number of rows. The result of a row is therefore bitwise the same for
// any number of rows from 5 to 64.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/matmul/matvec.gpu.h"

namespace longhaul::cuda {

/// With fewer rows, matvec() is as fast. Measured on one H200, in Q8_0 with the shapes of an 8B
/// model: a decode step with 5 rows took 5.2 ms with this kernel and 6.2 ms without. With 8 rows,
/// it took 6.0 and 6.9 ms.
inline constexpr int64_t kLeastTileRows = 5;
inline constexpr int64_t kMostTileRows = 64;
/// On Hopper, this many rows or more use the kernel of row_tiles_sm90.cuh, whose results are
/// bitwise equal.
inline constexpr int64_t kLeastRowsSm90 = 17;

/// Returns whether there is a kernel for the type, and whether the current device has enough shared
/// memory for it. There are kernels for the K types and for types with a scale for each 32 weights.
bool multiplies_in_tiles(DType type, int64_t rows);

/// The way in which a call is split among thread blocks, which does not depend on the number of
/// rows. It also gives the memory that the call needs if columns are split among several thread
/// blocks.
struct TilePlan {
  int tiles = 0, parts = 0, chunks_per_part = 0;
  size_t floats = 0;    ///< number of floats for partial sums
  size_t counters = 0;  ///< number of counters, which must be zeros before the call and are zeros
                        ///< after it
};
TilePlan tile_plan(const MatvecInput& x, std::span<const MatvecJob> jobs);

/// Multiplies up to kMostMatvecJobs matrices of one type by the same x, which is bf16. Weights are
/// read before the last queued kernel has ended, so that kernel must not write them.
void multiply_tiles(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs,
                    const TilePlan& plan, float* partial, int* counters);

}  // namespace longhaul::cuda
