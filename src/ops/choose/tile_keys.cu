#include <cuda_runtime.h>

#include "ops/choose/tile_keys.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {
namespace {

/// Two thread blocks per head: one for columns, one for diagonals.
__global__ void __launch_bounds__(kBlockThreads, 1) choose_lines_kernel(const LinesTask* tasks) {
  __shared__ union {
    SelectShared select;
    RunShared runs;
  } shared;
  const LinesTask& task = tasks[blockIdx.x / 2];
  const bool columns = blockIdx.x % 2 == 0;
  select_rows(CudaBlock{}, shared.select, columns ? task.columns : task.diagonals);
  __syncthreads();
  if (!columns) merge_runs(CudaBlock{}, shared.runs, task.runs);
}

__global__ void __launch_bounds__(kBlockThreads, 1) list_tile_keys_kernel(const TileTask* tasks) {
  __shared__ TileShared shared;
  const TileTask task = tasks[blockIdx.x];
  list_tile_keys(CudaBlock{}, shared, task);
}

__global__ void __launch_bounds__(kBlockThreads, 1) list_tile_pages_kernel(const PageTask* tasks) {
  __shared__ PageShared shared;
  const PageTask task = tasks[blockIdx.x];
  list_tile_pages(CudaBlock{}, shared, task);
}

}  // namespace

void choose_lines(Stream stream, std::span<const LinesTask> tasks, ScoreScratch& scratch) {
  if (tasks.empty()) return;
  const LinesTask* const there = scratch.upload(stream, tasks);
  const auto blocks = static_cast<unsigned>(2 * tasks.size());
  choose_lines_kernel<<<blocks, kBlockThreads, 0, stream>>>(there);
  check_launch("choose_lines");
}

void list_tile_keys(Stream stream, std::span<const TileTask> tasks, ScoreScratch& scratch) {
  if (tasks.empty()) return;
  const TileTask* const there = scratch.upload(stream, tasks);
  list_tile_keys_kernel<<<static_cast<unsigned>(tasks.size()), kBlockThreads, 0, stream>>>(there);
  check_launch("list_tile_keys");
}

void list_tile_pages(Stream stream, std::span<const PageTask> tasks, ScoreScratch& scratch) {
  if (tasks.empty()) return;
  const PageTask* const there = scratch.upload(stream, tasks);
  list_tile_pages_kernel<<<static_cast<unsigned>(tasks.size()), kBlockThreads, 0, stream>>>(there);
  check_launch("list_tile_pages");
}

}  // namespace longhaul::cuda
