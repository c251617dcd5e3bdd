#include <cuda_runtime.h>

#include "ops/blocks/blocks.gpu.h"
#include "ops/core/gpu/early_launch.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    block_rows_kernel(int64_t first, const int32_t* blocks, int64_t rows, int64_t block,
                      int64_t begin, int32_t* out) {
  await_turn();
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i >= rows) return;
  const int64_t behind = i - first;
  out[i] = static_cast<int32_t>(
      behind < 0 ? i : begin + blocks[behind / block] * block + behind % block);
}

}  // namespace

void block_rows(Stream stream, int64_t first, const int32_t* blocks, int64_t count, int64_t block,
                int64_t begin, int32_t* rows) {
  const int64_t all = first + count * block;
  if (all <= 0) return;
  launch_early(stream, "block_rows", block_rows_kernel,
               static_cast<unsigned>((all + kThreads - 1) / kThreads), kThreads, 0, first, blocks,
               all, block, begin, rows);
}

}  // namespace longhaul::cuda
