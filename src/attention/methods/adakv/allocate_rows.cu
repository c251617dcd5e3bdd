#include <cuda_runtime.h>

#include "attention/methods/adakv/allocate_rows.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {
namespace {

__global__ void __launch_bounds__(kBlockThreads) allocate_kernel(const BudgetTask task) {
  __shared__ SelectShared shared;
  allocate_rows(CudaBlock{}, shared, task);
}

}  // namespace

void allocate_rows(Stream stream, BudgetTask task, std::span<const BudgetList> lists,
                   ScoreScratch& scratch) {
  task.lists = scratch.upload(stream, lists);
  task.list_count = static_cast<int32_t>(lists.size());
  allocate_kernel<<<1, kBlockThreads, 0, stream>>>(task);
  check_launch("allocate_rows");
}

}  // namespace longhaul::cuda
