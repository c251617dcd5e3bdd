#include "ops/maps/observed_rows.h"

#include <algorithm>

namespace longhaul {

void ObservedRows::add(const AttendCall& call, int64_t begin, int64_t rows, int64_t most) {
  const int64_t width = int64_t{call.heads} * call.head_dim;
  const int64_t stale = std::clamp<int64_t>(end_ - begin, 0, count());
  queries_.drop_last(stale, width);
  lse_.drop_last(stale, call.heads);
  queries_.push(*call.queue, call.queries.front(), rows, width, most);
  lse_.push(*call.queue, call.lse_in, rows, call.heads, most);
  end_ = begin + rows;
}

void ObservedRows::attention_received(AttendCall call, std::span<const KeySegment> lists,
                                      std::span<const View<float>> received) {
  const int heads = call.heads / static_cast<int>(lists.size()), rows = static_cast<int>(count());
  tasks_.clear();
  targets_.clear();
  for (size_t list = 0; list < lists.size(); ++list) {
    const KeySegment& keys = lists[list];
    tasks_.push_back(
        {static_cast<int>(list) * heads, heads, 0, rows, keys.count - rows, {&keys, 1}});
    targets_.push_back({received[list], {}});
  }
  const View<const float> queries = queries_.view();
  call.queries = {&queries, 1};
  call.lse_in = lse_.view();
  column_sums(call, tasks_, targets_);
}

}  // namespace longhaul
