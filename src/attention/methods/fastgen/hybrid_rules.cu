#include <cuda_runtime.h>

#include "attention/methods/fastgen/hybrid_rules.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {
namespace {

__global__ void __launch_bounds__(kBlockThreads) judge_kernel(const RuleTask* tasks) {
  __shared__ RuleShared shared;
  const RuleTask task = tasks[blockIdx.x];
  const CudaBlock block;
  RuleJudgement<CudaBlock>(block, shared, task).run();
}

}  // namespace

void judge_rules(Stream stream, std::span<const RuleTask> lists, ScoreScratch& scratch) {
  if (lists.empty()) return;
  const RuleTask* const there = scratch.upload(stream, lists);
  judge_kernel<<<static_cast<unsigned>(lists.size()), kBlockThreads, 0, stream>>>(there);
  check_launch("judge_rules");
}

}  // namespace longhaul::cuda
