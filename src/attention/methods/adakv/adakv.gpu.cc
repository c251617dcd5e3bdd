// The GPU's operations of this method.

#include "attention/methods/adakv/allocate_rows.gpu.h"
#include "attention/methods/adakv/allocate_rows.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {
namespace {

void run_allocate_rows(GpuQueue& queue, const SharedBudget& budget) {
  std::vector<BudgetList> lists;
  for (size_t l = 0; l < budget.scores.size(); ++l) {
    lists.push_back({budget.scores[l].address(), budget.scores[l].size(), budget.rows[l].address(),
                     budget.counts.address() + l});
  }
  BudgetTask task{};
  task.first = budget.ends.first;
  task.last = budget.ends.last;
  task.guaranteed = budget.guaranteed;
  task.left = budget.left;
  task.ranks = reinterpret_cast<uint32_t*>(budget.scratch.address());
  allocate_rows(queue.handle(), task, lists, queue.own<ScoreScratch>());
}

}  // namespace

void implement_adakv(GpuQueue& queue) { queue.implement(kAllocateRows, run_allocate_rows); }

}  // namespace longhaul::cuda
