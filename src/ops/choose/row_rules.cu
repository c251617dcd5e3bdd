#include <cuda_runtime.h>

#include <cstring>

#include "ops/choose/row_rules.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {
namespace {

__global__ void __launch_bounds__(kBlockThreads) steady_kernel(const SteadyTask* tasks) {
  __shared__ SelectShared shared;
  const SteadyTask task = tasks[blockIdx.x];
  steady_scores(CudaBlock{}, shared, task);
}

__global__ void __launch_bounds__(kBlockThreads) judge_kernel(const RuleTask* tasks) {
  __shared__ RuleShared shared;
  const RuleTask task = tasks[blockIdx.x];
  const CudaBlock block;
  RuleJudgement<CudaBlock>(block, shared, task).run();
}

__global__ void __launch_bounds__(kBlockThreads) deal_kernel(const DealTask task) {
  __shared__ SelectShared shared;
  deal_rows(CudaBlock{}, shared, task);
}

template <class T>
const T* send(Stream stream, std::span<const T> tasks, ScoreScratch& scratch) {
  const ScoreScratch::Plan plan = scratch.begin(tasks.size_bytes());
  std::memcpy(plan.host, tasks.data(), tasks.size_bytes());
  scratch.send(stream, plan);
  return reinterpret_cast<const T*>(plan.device);
}

}  // namespace

void steady_scores(Stream stream, std::span<const SteadyTask> lists, ScoreScratch& scratch) {
  if (lists.empty()) return;
  const SteadyTask* const there = send(stream, lists, scratch);
  steady_kernel<<<static_cast<unsigned>(lists.size()), kBlockThreads, 0, stream>>>(there);
  check_launch("steady_scores");
}

void judge_rules(Stream stream, std::span<const RuleTask> lists, ScoreScratch& scratch) {
  if (lists.empty()) return;
  const RuleTask* const there = send(stream, lists, scratch);
  judge_kernel<<<static_cast<unsigned>(lists.size()), kBlockThreads, 0, stream>>>(there);
  check_launch("judge_rules");
}

void deal_rows(Stream stream, DealTask task, std::span<const DealtList> lists,
               ScoreScratch& scratch) {
  task.lists = send(stream, lists, scratch);
  task.list_count = static_cast<int32_t>(lists.size());
  deal_kernel<<<1, kBlockThreads, 0, stream>>>(task);
  check_launch("deal_rows");
}

}  // namespace longhaul::cuda
