#include "ops/choose/mean_blocks.h"

#include <algorithm>

#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/maps/mean_keys.h"

namespace longhaul {
namespace {

void choose(Queue& queue, const TiledRows& rows, const MeanBlocks& task, int64_t tile,
            MeanBlockMemory::Worker& worker) {
  const TileGrid& grid = rows.grid;
  const View<float> query = worker.query.resize(queue, rows.head_dim);
  const View<float> scores = worker.scores.resize(queue, tile + 1);
  mean_query(queue, rows.queries, rows.heads, rows.head_dim, task.head, grid.row_begin(tile),
             grid.row_end(tile), query);
  mean_scores(queue, query, task.means, tile + 1, rows.head_dim, 1.0f, scores);
  const auto seen = host(task.seen.part((tile - grid.first_tile()) * grid.blocks(), grid.blocks()));
  std::fill(seen.begin(), seen.end(), uint8_t{0});
  const RowList best = select_rows(queue, scores, {0, 0, task.count}, worker.selection);
  for (const int32_t block : host_rows(best)) seen[static_cast<size_t>(block)] = 1;
}

}  // namespace

void choose_mean_blocks(Queue& queue, const TiledRows& rows, int64_t first,
                        std::span<const MeanBlocks> tasks, MeanBlockMemory& memory) {
  LH_ASSERT(first >= 0 && first < rows.grid.rows);
  const TileGrid& grid = rows.grid;
  for (const MeanBlocks& task : tasks) {
    LH_ASSERT(task.seen.size() == grid.tiles() * grid.blocks());
  }
  if (on_device(kChooseMeanBlocks, queue, rows, first, tasks)) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    std::vector<MeanBlocks> here(tasks.begin(), tasks.end());
    for (MeanBlocks& task : here) {
      task.means = on(task.means);
      task.seen = on(task.seen);
    }
    return choose_mean_blocks(host_queue(),
                              {on(rows.queries), rows.heads, rows.head_dim, rows.grid}, first, here,
                              memory);
  }
  memory.workers.resize(std::max(memory.workers.size(), static_cast<size_t>(thread_count())));
  const int64_t from = grid.tile_of(first), tiles = grid.blocks() - from;
  parallel_for(static_cast<int64_t>(tasks.size()) * tiles, [&](int64_t i, int thread) {
    choose(queue, rows, tasks[static_cast<size_t>(i / tiles)], from + i % tiles,
           memory.workers[static_cast<size_t>(thread)]);
  });
}

}  // namespace longhaul
