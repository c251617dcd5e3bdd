// The GPU's operations of this method.

#include "attention/methods/flexprefill/flex_blocks.gpu.h"
#include "attention/methods/flexprefill/flex_blocks.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {
namespace {

bool run_choose_flex_blocks(GpuQueue& queue, const TiledRows& rows, const FlexRule& rule,
                            std::span<const FlexHead> heads) {
  if (rows.head_dim > kMostFlexDim) return false;
  std::vector<FlexHeadTask> tasks;
  for (const FlexHead& head : heads) {
    tasks.push_back({head.head, head.columns.address(), head.diagonals.address(),
                     head.means.address(), head.seen.address()});
  }
  const TileGrid& grid = rows.grid;
  const FlexCall call{rows.queries.address(),
                      rows.heads,
                      rows.head_dim,
                      grid.tile,
                      grid.begin,
                      grid.rows,
                      rule.mass,
                      rule.distance,
                      rule.least,
                      rule.scale,
                      rule.last_rows};
  choose_flex_blocks(queue.handle(), call, tasks, queue.own<ScoreScratch>());
  return true;
}

}  // namespace

void implement_flexprefill(GpuQueue& queue) {
  queue.implement(kChooseFlexBlocks, run_choose_flex_blocks);
}

}  // namespace longhaul::cuda
