// The GPU's operations of this method.

#include "attention/methods/reattention/votes.gpu.h"
#include "attention/methods/reattention/votes.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {
namespace {

void run_most_voted(GpuQueue& queue, std::span<const DeviceVote> votes) {
  const auto words = [](View<int32_t> x) { return reinterpret_cast<uint32_t*>(x.address()); };
  std::vector<VoteTask> tasks;
  for (const DeviceVote& vote : votes) {
    tasks.push_back({vote.votes.address(), vote.votes.size(), vote.numbers, vote.k,
                     words(vote.counters), words(vote.marks), words(vote.voted),
                     vote.found.address(), vote.rows.address(), vote.count.address()});
  }
  most_voted(queue.handle(), tasks, queue.own<ScoreScratch>());
}

void run_expand_spans(GpuQueue& queue, std::span<const DeviceSpans> spans, int64_t span,
                      int64_t first) {
  std::vector<ExpandTask> tasks;
  for (const DeviceSpans& of : spans) {
    tasks.push_back({of.chosen.rows.address(), of.chosen.count.address(), of.chosen.most(), span,
                     of.end, first, of.rows.address(), of.count.address()});
  }
  expand_spans(queue.handle(), tasks, queue.own<ScoreScratch>());
}

}  // namespace

void implement_reattention(GpuQueue& queue) {
  queue.implement(kMostVoted, run_most_voted);
  queue.implement(kExpandSpans, run_expand_spans);
}

}  // namespace longhaul::cuda
