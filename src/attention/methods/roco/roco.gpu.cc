// The GPU's operations of this method.

#include "attention/methods/roco/steady_scores.gpu.h"
#include "attention/methods/roco/steady_scores.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {
namespace {

void run_add_seen(GpuQueue& queue, int64_t rows, std::span<const View<float>> columns) {
  std::vector<SeenColumn> lists;
  for (const View<float>& column : columns) {
    lists.push_back({column.address(), column.size()});
  }
  add_seen(queue.handle(), rows, lists);
}

void run_steady_scores(GpuQueue& queue, std::span<const SteadyList> lists) {
  std::vector<SteadyTask> tasks;
  for (const auto& [got, rule, scores] : lists) {
    tasks.push_back({got.sums.address(), got.squares.address(), got.seen.address(),
                     scores.address(), scores.size(), rule.sink, rule.settling, rule.feasible});
  }
  steady_scores(queue.handle(), tasks, queue.own<ScoreScratch>());
}

}  // namespace

void implement_roco(GpuQueue& queue) {
  queue.implement(kAddSeen, run_add_seen);
  queue.implement(kSteadyScores, run_steady_scores);
}

}  // namespace longhaul::cuda
