#include "ops/attention/window_rows.h"

#include "ops/attention/sliding_rows.h"
#include "ops/core/fill.h"

namespace longhaul {

std::span<const KeySegment> WindowRows::tokens(int64_t from, int64_t count,
                                               std::vector<KeySegment>& to) const {
  to.assign(lists.begin(), lists.end());
  for (KeySegment& keys : to) {
    keys.begin = from;
    keys.position = from - first;
    keys.count = count;
  }
  return to;
}

void add_window_sums(const WindowRows& rows, int64_t from, int64_t count, View<float> to,
                     WindowSums& memory) {
  const AttendCall& call = rows.call;
  const View<float> sums = memory.sums.resize(*call.queue, count * call.heads);
  fill(*call.queue, sums, 0);
  const std::span<const KeySegment> lists = rows.tokens(from, count, memory.segments);
  const int group = call.heads / static_cast<int>(lists.size());
  memory.tasks.clear();
  memory.targets.clear();
  for (int head = 0; head < call.heads; head += group) {
    memory.tasks.push_back({head, group, 0, rows.rows, rows.position,
                            lists.subspan(static_cast<size_t>(head / group), 1)});
    memory.targets.push_back({sums.part(head * count, group * count), {}, true});
  }
  column_sums(call, memory.tasks, memory.targets);
  add_transposed(*call.queue, sums, count, to);
}

}  // namespace longhaul
