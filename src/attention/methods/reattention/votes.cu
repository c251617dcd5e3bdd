#include <cuda_runtime.h>

#include <algorithm>

#include "attention/methods/reattention/votes.gpu.h"
#include "ops/core/gpu/early_launch.cuh"

namespace longhaul::cuda {
namespace {

constexpr int64_t kVotesOfBlock = 8 * kBlockThreads;

/// The tasks of a launch: one task as a kernel argument, or several tasks in device memory. Each
/// row of thread blocks processes one task.
template <class Task>
struct Tasks {
  const Task* list;  ///< null: `one`
  Task one;

  __device__ Task of_block() const { return list == nullptr ? one : list[blockIdx.y]; }
};

template <class Task>
Tasks<Task> send(Stream stream, std::span<const Task> tasks, ScoreScratch& scratch) {
  if (tasks.size() == 1) return {nullptr, tasks.front()};
  return {scratch.upload(stream, tasks), {}};
}

__global__ void __launch_bounds__(kBlockThreads, 1)
    tally_votes_kernel(const __grid_constant__ Tasks<VoteTask> tasks) {
  await_turn();
  const VoteTask task = tasks.of_block();
  const int64_t first = blockIdx.x * kVotesOfBlock, end = first + kVotesOfBlock;
  tally_votes(CudaBlock{}, task, first, end < task.cast ? end : task.cast);
}

__global__ void __launch_bounds__(kBlockThreads, 1)
    choose_voted_kernel(const __grid_constant__ Tasks<VoteTask> tasks) {
  __shared__ ChoiceShared shared;
  await_turn();
  const VoteTask task = tasks.of_block();
  choose_voted(CudaBlock{}, shared, task);
}

__global__ void __launch_bounds__(kBlockThreads, 1)
    expand_spans_kernel(const __grid_constant__ Tasks<ExpandTask> tasks) {
  __shared__ ExpandShared shared;
  await_turn();
  const ExpandTask task = tasks.of_block();
  expand_spans(CudaBlock{}, shared, task);
}

}  // namespace

void most_voted(Stream stream, std::span<const VoteTask> votes, ScoreScratch& scratch) {
  if (votes.empty()) return;
  const Tasks<VoteTask> tasks = send(stream, votes, scratch);
  int64_t cast = 0;
  for (const VoteTask& vote : votes) cast = std::max(cast, vote.cast);
  const auto count = static_cast<unsigned>(votes.size());
  if (cast > 0) {
    const auto blocks = static_cast<unsigned>((cast + kVotesOfBlock - 1) / kVotesOfBlock);
    launch_early(stream, "tally_votes", tally_votes_kernel, {blocks, count}, kBlockThreads, 0,
                 tasks);
  }
  launch_early(stream, "choose_voted", choose_voted_kernel, {1, count}, kBlockThreads, 0, tasks);
}

void expand_spans(Stream stream, std::span<const ExpandTask> spans, ScoreScratch& scratch) {
  if (spans.empty()) return;
  const Tasks<ExpandTask> tasks = send(stream, spans, scratch);
  const auto count = static_cast<unsigned>(spans.size());
  launch_early(stream, "expand_spans", expand_spans_kernel, {1, count}, kBlockThreads, 0, tasks);
}

}  // namespace longhaul::cuda
