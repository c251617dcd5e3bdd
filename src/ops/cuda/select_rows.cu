#include <cuda_runtime.h>

#include <cstring>

#include "ops/cuda/device_error.h"
#include "ops/cuda/select_rows.h"

namespace longhaul::cuda {
namespace {

__global__ void __launch_bounds__(kBlockThreads) select_rows_kernel(const SelectTask* tasks) {
  __shared__ SelectShared shared;
  const SelectTask task = tasks[blockIdx.x];
  select_rows(CudaBlock{}, shared, task);
}

}  // namespace

bool select_rows(Stream stream, std::span<const SelectTask> tasks, ScoreScratch& scratch) {
  if (tasks.empty()) return true;
  const ScoreScratch::Plan plan = scratch.begin(tasks.size_bytes());
  std::memcpy(plan.host, tasks.data(), tasks.size_bytes());
  scratch.send(stream, plan);
  select_rows_kernel<<<static_cast<unsigned>(tasks.size()), kBlockThreads, 0, stream>>>(
      reinterpret_cast<const SelectTask*>(plan.device));
  check_launch("select_rows");
  return true;
}

}  // namespace longhaul::cuda
