#include "ops/maps/staged_top_keys.gpu.h"

#include <algorithm>
#include <tuple>
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
  // Rows that vote together have a common number of keys. The largest number per head is gathered.
  std::vector<const TopKeysTask*> order;
  for (const TopKeysTask& task : tasks) order.push_back(&task);
  const auto same_keys = [](const TopKeysTask& a, const TopKeysTask& b) {
    return a.keys.pages == b.keys.pages && a.begin == b.begin;
  };
  std::ranges::stable_sort(order, [](auto* a, auto* b) {
    return std::tuple(a->keys.pages, a->begin, b->count) <
           std::tuple(b->keys.pages, b->begin, a->count);
  });
  std::vector<KeySegment> segments;
  segments.reserve(tasks.size());  // keeps views valid
  std::vector<AttendTask> over;
  for (size_t i = 0; i < order.size(); ++i) {
    const TopKeysTask& task = *order[i];
    if (i == 0 || !same_keys(*order[i - 1], task)) {
      KeySegment& keys = segments.emplace_back();
      keys.rows = task.keys;
      keys.begin = task.begin;
      keys.count = task.count;
      keys.visible = Visibility::kAll;
    }
    // A search ignores row positions, so the field carries the task's number.
    over.push_back({task.head_begin, task.head_count, task.row_begin, task.row_count,
                    static_cast<int64_t>(i), std::span<const KeySegment>(&segments.back(), 1)});
  }
  bool all = true;
  staged.run(rows, over, [&](std::span<const AttendTask> some) {
    std::vector<TopKeysTask> gathered, others;  // a search uses one kernel for all of its tasks
    for (const AttendTask& task : some) {
      const KeySegment& keys = task.segments.front();
      TopKeysTask own = *order[static_cast<size_t>(task.row_position)];
      own.keys = keys.rows;
      own.begin = keys.begin;
      (keys.rows.type == DType::BF16 ? gathered : others).push_back(own);
    }
    for (const auto& part : {gathered, others}) {
      if (!part.empty()) all = search(part) && all;
    }
  });
  return all;
}

}  // namespace longhaul::cuda
