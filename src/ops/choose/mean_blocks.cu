#include <cuda_runtime.h>

#include "ops/choose/mean_blocks.gpu.h"
#include "ops/choose/select_phases.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/reductions.cuh"

namespace longhaul::cuda {
namespace {

/// One thread block per tile of a task.
__global__ void __launch_bounds__(kBlockThreads) mean_blocks_kernel(MeanBlocksCall call) {
  __shared__ SelectShared shared;
  __shared__ float query[kMostMeanDim];
  const MeanBlocksTask task = call.tasks[blockIdx.y];
  const TileGrid& grid = call.grid;
  const int64_t tile = call.first_tile + blockIdx.x, blocks = grid.blocks(), seen = tile + 1;
  const int64_t place = (blockIdx.y * int64_t{gridDim.x} + blockIdx.x) * blocks;
  float* const scores = call.scores + place;
  int32_t* const chosen = call.chosen + place;
  uint8_t* const out = task.seen + (tile - grid.first_tile()) * blocks;
  const int dim = call.head_dim;
  const CudaBlock block;
  block.each([&](int t) {
    for (int64_t b = t; b < blocks; b += kBlockThreads) out[b] = 0;
    if (t >= dim) return;
    const int64_t begin = grid.row_begin(tile), end = grid.row_end(tile);
    const float* const q = call.queries + int64_t{task.head} * dim + t;
    float sum = 0;
#pragma unroll 4
    for (int64_t r = begin; r < end; ++r) sum += q[r * call.heads * dim];
    query[t] = sum / static_cast<float>(end - begin);
  });
  block.each([&](int thread) {
    for (int64_t b = thread / 32; b < seen; b += kBlockThreads / 32) {
      const float* const mean = task.means + b * dim;
      float dot = 0;
      for (int t = thread % 32; t < dim; t += 32) dot = fmaf(query[t], mean[t], dot);
      dot = warp_sum(dot);
      if (thread % 32 == 0) scores[b] = dot;
    }
  });
  const int64_t count = task.count < seen ? task.count : seen;
  select_rows(block, shared, SelectTask{scores, seen, 0, 0, count, chosen});
  block.each([&](int t) {
    for (int64_t i = t; i < count; i += kBlockThreads) out[chosen[i]] = 1;
  });
}

}  // namespace

void choose_mean_blocks(Stream stream, const MeanBlocksCall& call) {
  const int64_t tiles = call.grid.blocks() - call.first_tile;
  if (tiles <= 0 || call.task_count <= 0) return;
  mean_blocks_kernel<<<dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(call.task_count)),
                       kBlockThreads, 0, stream>>>(call);
  check_launch("choose_mean_blocks");
}

}  // namespace longhaul::cuda
