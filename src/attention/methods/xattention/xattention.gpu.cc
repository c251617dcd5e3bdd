// The GPU's operations of this method.

#include "attention/methods/xattention/antidiagonal_blocks.h"
#include "attention/methods/xattention/antidiagonals.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {
namespace {

bool run_lay_out_groups(GpuQueue& queue, View<const float> q, int64_t groups, int stride, int heads,
                        int head_dim, View<uint8_t> rounded) {
  if (head_dim % 8 != 0) return false;
  lay_out_groups(queue.handle(), q.address(), groups, stride, heads, head_dim,
                 reinterpret_cast<uint16_t*>(rounded.address()));
  return true;
}

void run_see_all_blocks(GpuQueue& queue, View<uint8_t> seen) {
  check(cudaMemsetAsync(seen.address(), 1, static_cast<size_t>(seen.size()), queue.handle()),
        "memset");
}

void run_choose_antidiagonals(GpuQueue& queue, const GroupMasses& of,
                              std::span<const AntidiagonalHeads> heads) {
  std::vector<AntidiagonalTask> tasks;
  for (size_t i = 0; i < heads.size(); ++i) {
    AntidiagonalTask task{};
    task.masses = of.masses[i].address();
    task.shares = heads[i].shares.data();
    task.seen = heads[i].seen.address();
    task.head_count = heads[i].head_count;
    task.per_block = of.per_block;
    task.first_group = of.first;
    task.end_group = of.end;
    task.blocks = (of.end + of.per_block - 1) / of.per_block;
    task.first_tile = of.grid.first_tile();
    task.tiles = of.grid.tiles();
    task.columns = of.grid.blocks();
    tasks.push_back(task);
  }
  choose_antidiagonals(queue.handle(), tasks, queue.own<ScoreScratch>());
}

}  // namespace

void implement_xattention(GpuQueue& queue) {
  queue.implement(kLayOutGroups, run_lay_out_groups);
  queue.implement(kSeeAllBlocks, run_see_all_blocks);
  queue.implement(kChooseAntidiagonals, run_choose_antidiagonals);
}

}  // namespace longhaul::cuda
