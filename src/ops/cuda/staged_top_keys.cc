#include "ops/cuda/staged_top_keys.h"

#include <algorithm>
#include <vector>

namespace longhaul::cuda {

bool can_stage_top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks) {
  return call.rule == TopRule::kTile && call.head_dim <= 128 &&
         std::ranges::any_of(tasks,
                             [](const TopKeysTask& task) { return task.keys.type != DType::BF16; });
}

bool stage_top_keys(StagedKeys& staged, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
                    const std::function<bool(std::span<const TopKeysTask>)>& search) {
  AttendCall rows;
  rows.heads = call.heads;
  rows.head_dim = call.head_dim;
  std::vector<KeySegment> segments(tasks.size());
  std::vector<AttendTask> over;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TopKeysTask& task = tasks[i];
    segments[i].rows = task.keys;
    segments[i].begin = task.begin;
    segments[i].count = task.count;
    segments[i].visible = Visibility::kAll;
    over.push_back({task.head_begin, task.head_count, task.row_begin, task.row_count, 0,
                    std::span<const KeySegment>(&segments[i], 1)});
  }
  bool all = true;
  staged.run(rows, over, [&](std::span<const AttendTask> some) {
    std::vector<TopKeysTask> gathered;
    for (const AttendTask& task : some) {
      const KeySegment& keys = task.segments.front();
      gathered.push_back({task.head_begin, task.head_count, task.row_begin, task.row_count,
                          keys.rows, keys.begin, keys.count});
    }
    all = search(gathered) && all;
  });
  return all;
}

}  // namespace longhaul::cuda
