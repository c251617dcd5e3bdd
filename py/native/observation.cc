#include "observation.h"

#include <algorithm>
#include <optional>

#include "ops/attention/visible_keys.h"
#include "ops/core/host_copies.h"

namespace longhaul::python {

void Observation::observe(const LayerStep& step, std::span<const AttendTask> tasks) {
  if (step.pass.discard || (!prompts_ && !step.decoding())) return;
  const std::lock_guard lock(mutex_);
  for (const AttendTask& task : tasks) {
    for (int row = 0; row < task.row_count && seen_.complete; ++row) add(step, task, row);
  }
}

void Observation::add(const LayerStep& step, const AttendTask& task, int row) {
  const auto begin = std::ssize(seen_.keys);
  bool known = true;
  for (const KeySegment& segment : task.segments) {
    known = add_keys(step, segment, task.row_position + row) && known;
  }
  if (!known) ++seen_.unknown;
  seen_.rows.push_back({step.layer, task.head_begin, task.head_count,
                        step.begin + task.row_begin + row, begin, std::ssize(seen_.keys)});
}

/// Returns whether the segment's rows are those of a list of the store.
bool Observation::add_keys(const LayerStep& step, const KeySegment& shown, int64_t position) {
  const std::optional<int> list = step.list_of(shown.rows);
  if (!list || !shown.masks.empty()) return false;
  HostStage on(*step.queue);
  const KeySegment segment = with_host_index(on, shown);
  const KeyRange range = visible_keys(segment, position);
  if (std::ssize(seen_.keys) + range.end - range.begin > most_keys_) {
    seen_.complete = false;
    return true;
  }
  const int64_t length = step.store->length(step.layer, *list);
  for (int64_t i = range.begin; i < range.end; ++i) {
    int64_t row = segment.begin + i;
    if (!segment.index.empty()) {
      const int32_t* index = host(segment.index).data();
      const int64_t page = segment.rows.page_rows;
      row = segment.whole_pages ? index[i / page] * page + i % page : index[i];
    }
    if (row >= length) continue;
    seen_.keys.push_back(static_cast<int32_t>(step.store->token_of(step.layer, *list, row)));
  }
  return true;
}

Observation::Seen Observation::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(seen_, {});
}

}  // namespace longhaul::python
