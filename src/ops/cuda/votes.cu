#include <cuda_runtime.h>

#include <algorithm>

#include "ops/cuda/device_error.h"
#include "ops/cuda/votes.h"

namespace longhaul::cuda {
namespace {

constexpr int64_t kVotesOfBlock = 8 * kBlockThreads;

__global__ void __launch_bounds__(kBlockThreads, 1)
    tally_votes_kernel(const __grid_constant__ VoteTask task) {
  const int64_t first = blockIdx.x * kVotesOfBlock, end = first + kVotesOfBlock;
  tally_votes(CudaBlock{}, task, first, end < task.cast ? end : task.cast);
}

__global__ void __launch_bounds__(kBlockThreads, 1)
    choose_voted_kernel(const __grid_constant__ VoteTask task) {
  __shared__ ChoiceShared shared;
  choose_voted(CudaBlock{}, shared, task);
}

__global__ void __launch_bounds__(kBlockThreads, 1)
    expand_spans_kernel(const __grid_constant__ ExpandTask task) {
  __shared__ ExpandShared shared;
  expand_spans(CudaBlock{}, shared, task);
}

}  // namespace

void most_voted(Stream stream, const VoteTask& task) {
  if (task.cast > 0) {
    const auto blocks = static_cast<unsigned>((task.cast + kVotesOfBlock - 1) / kVotesOfBlock);
    tally_votes_kernel<<<blocks, kBlockThreads, 0, stream>>>(task);
    check_launch("tally_votes");
  }
  choose_voted_kernel<<<1, kBlockThreads, 0, stream>>>(task);
  check_launch("choose_voted");
}

void expand_spans(Stream stream, const ExpandTask& task) {
  expand_spans_kernel<<<1, kBlockThreads, 0, stream>>>(task);
  check_launch("expand_spans");
}

}  // namespace longhaul::cuda
