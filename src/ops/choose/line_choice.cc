#include "ops/choose/line_choice.h"

#include <algorithm>

#include "base/on_device.h"
#include "base/parallel.h"

namespace longhaul {
namespace {

RowList best_with_first(Queue& queue, View<const float> scores, int64_t forced, int64_t count,
                        RowSelection& memory) {
  RowsToKeep keep;
  keep.first = std::min(forced, scores.size());
  keep.count = std::max(forced, count);
  return select_rows(queue, scores, keep, memory);
}

void merge_runs(Queue& queue, std::span<const int32_t> distances, int tile, LineChoice& chosen) {
  const auto runs = host(chosen.runs.resize(queue, 2 * static_cast<int64_t>(distances.size())));
  size_t count = 0;
  for (size_t i = distances.size(); i-- > 0;) {
    const int32_t distance = distances[i];
    if (count == 0 || runs[2 * count - 1] - distance > tile) runs[2 * count++] = distance;
    runs[2 * count - 1] = distance;
  }
  host(chosen.run_count.resize(queue, 1))[0] = static_cast<int32_t>(count);
}

/// Allocates memory before the parallel loop below. An array that was on a device returns its
/// memory to that device, which only one thread at a time may call.
void make_room(Queue& queue, std::span<const LineTask> tasks) {
  for (const LineTask& task : tasks) {
    LineChoice& chosen = *task.chosen;
    const int64_t columns = std::max(kForcedColumns, task.vertical);
    const int64_t diagonals =
        std::min(task.diagonals.size(), std::max(kForcedDiagonals, task.slash));
    chosen.column_rows.rows.resize(queue, std::min(task.columns.size(), columns));
    chosen.columns = {chosen.column_rows.rows.view(), {}};
    chosen.diagonal_rows.rows.resize(queue, diagonals);
    chosen.runs.resize(queue, 2 * diagonals);
    chosen.run_count.resize(queue, 1);
  }
}

}  // namespace

void choose_lines(Queue& queue, std::span<const LineTask> tasks, int tile) {
  make_room(queue, tasks);
  if (on_device(kChooseLines, queue, tasks, tile)) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    std::vector<LineTask> here(tasks.begin(), tasks.end());
    for (LineTask& task : here) {
      task.columns = on(task.columns);
      task.diagonals = on(task.diagonals);
    }
    return choose_lines(host_queue(), here, tile);
  }
  LH_ASSERT(tile > 0);
  parallel_for(static_cast<int64_t>(tasks.size()), [&](int64_t i, int) {
    const LineTask& task = tasks[static_cast<size_t>(i)];
    LineChoice& chosen = *task.chosen;
    chosen.columns =
        best_with_first(queue, task.columns, kForcedColumns, task.vertical, chosen.column_rows);
    const RowList distances =
        best_with_first(queue, task.diagonals, kForcedDiagonals, task.slash, chosen.diagonal_rows);
    merge_runs(queue, host_rows(distances), tile, chosen);
  });
}

}  // namespace longhaul
