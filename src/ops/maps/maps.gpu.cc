// The GPU's operations of this folder.

#include "ops/maps/maps.gpu.h"

#include "ops/attention/engine_pages.gpu.h"
#include "ops/core/gpu/operations.gpu.h"
#include "ops/maps/mean_keys.h"
#include "ops/maps/scored.gpu.h"
#include "ops/maps/staged_top_keys.gpu.h"

namespace longhaul::cuda {
namespace {

bool run_top_keys(GpuQueue& queue, const TopKeysCall& call, std::span<const TopKeysTask> tasks) {
  const auto search = [&](std::span<const TopKeysTask> some) {
    return top_keys(queue.handle(), call, some, engine_pages(queue, call.head_dim),
                    queue.own<ScoreScratch>());
  };
  if (!can_stage_top_keys(call, tasks)) return search(tasks);
  return stage_top_keys(queue.own<StagedKeys>(), call, tasks, search);
}

}  // namespace

void implement_maps(GpuQueue& queue) {
  queue.own<ScoreScratch>();
  queue.implement(kColumnSums, scored<column_sums>);
  queue.implement(kLineSums, scored<line_sums>);
  queue.implement(kBlockMass, scored<block_mass>);
  queue.implement(kTopKeys, run_top_keys);
  queue.implement(kMeanKeys, [](GpuQueue& on, auto&&... arguments) {
    return mean_keys(on.handle(), arguments...);
  });
}

}  // namespace longhaul::cuda
