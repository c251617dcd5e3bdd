#include <cuda_runtime.h>

#include "ops/choose/select_rows.gpu.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/in_launches.cuh"

namespace longhaul::cuda {
namespace {

__global__ void __launch_bounds__(kBlockThreads)
    select_rows_kernel(const __grid_constant__ Records<SelectTask> tasks) {
  __shared__ SelectShared shared;
  await_turn();
  select_rows(CudaBlock{}, shared, tasks.each[blockIdx.x]);
}

}  // namespace

void select_rows(Stream stream, std::span<const SelectTask> tasks) {
  in_launches(tasks, "select_rows", [&](const Records<SelectTask>& some, unsigned count) {
    launch_early(stream, "select_rows", select_rows_kernel, count, kBlockThreads, 0, some);
  });
}

}  // namespace longhaul::cuda
