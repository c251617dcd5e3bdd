#include <cuda_runtime.h>

#include "attention/methods/flexprefill/flex_blocks.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {
namespace {

__global__ void __launch_bounds__(kBlockThreads, 1)
    take_lines_kernel(const __grid_constant__ FlexCall call, const FlexHeadTask* heads) {
  __shared__ FlexShared shared;
  const CudaBlock block;
  FlexPhases(block, shared, call, heads[blockIdx.x]).take_lines();
}

/// Runs FlexPhases::attend_tile(), with one thread block per tile and head.
__global__ void __launch_bounds__(kBlockThreads, 1)
    attend_tiles_kernel(const __grid_constant__ FlexCall call, const FlexHeadTask* heads) {
  __shared__ FlexShared shared;
  const CudaBlock block;
  const FlexHeadTask& head = heads[blockIdx.y];
  if (*head.pairs != 0) FlexPhases(block, shared, call, head).attend_tile(blockIdx.x);
}

__global__ void __launch_bounds__(kBlockThreads, 1)
    take_pairs_kernel(const __grid_constant__ FlexCall call, const FlexHeadTask* heads) {
  __shared__ FlexShared shared;
  const CudaBlock block;
  const FlexHeadTask& head = heads[blockIdx.x];
  if (*head.pairs != 0) FlexPhases(block, shared, call, head).take_pairs();
}

}  // namespace

void choose_flex_blocks(Stream stream, const FlexCall& call, std::span<FlexHeadTask> heads,
                        ScoreScratch& scratch) {
  if (heads.empty()) return;
  const int64_t blocks = call.blocks(), pairs = call.tiles() * blocks;
  const int64_t each = blocks + 2 * pairs + 1;  // scratch elements per head
  auto* room = reinterpret_cast<float*>(
      scratch.room(static_cast<size_t>(std::ssize(heads) * each) * sizeof(float)));
  for (FlexHeadTask& head : heads) {
    head.bins = room;
    head.map = room + blocks;
    head.chosen = reinterpret_cast<int32_t*>(room + blocks + pairs);
    head.pairs = head.chosen + pairs;
    room += each;
  }
  const FlexHeadTask* const there = scratch.upload(stream, std::span<const FlexHeadTask>(heads));
  const auto count = static_cast<unsigned>(heads.size());
  take_lines_kernel<<<count, kBlockThreads, 0, stream>>>(call, there);
  check_launch("take_lines");
  const dim3 tiles(static_cast<unsigned>(call.tiles()), count);
  attend_tiles_kernel<<<tiles, kBlockThreads, 0, stream>>>(call, there);
  check_launch("attend_tiles");
  take_pairs_kernel<<<count, kBlockThreads, 0, stream>>>(call, there);
  check_launch("take_pairs");
}

}  // namespace longhaul::cuda
