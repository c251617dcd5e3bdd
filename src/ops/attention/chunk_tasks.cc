#include "ops/attention/chunk_tasks.h"

#include <algorithm>

#include "ops/attention/visible_keys.h"

namespace longhaul {
namespace {

/// The length of the chunks of a task; 0: it has none.
int64_t chunk_of(const AttendTask& task) {
  int64_t chunk = 0;
  for (const KeySegment& s : task.segments) {
    if (s.visible != Visibility::kChunk) continue;
    LH_ASSERT(s.window > 0 && (chunk == 0 || chunk == s.window));
    LH_ASSERT(s.masks.empty() && s.device_count.empty() && s.count_after.empty());
    chunk = s.window;
  }
  return chunk;
}

/// The keys of a segment that rows of the chunk from position `begin` on see.
KeySegment keys_of_chunk(const KeySegment& s, int64_t begin) {
  if (s.visible != Visibility::kChunk) return s;
  LH_ASSERT(!s.indexed_positions && !s.whole_pages);
  KeySegment own = s;
  const int64_t before = keys_before(s, begin);
  own.visible = Visibility::kCausal;
  own.window = 0;
  own.position += before;
  own.count -= before;
  if (s.index.empty()) {
    own.begin += before;
  } else {
    own.index = s.index.from(before);
  }
  return own;
}

int64_t chunks_of_rows(const AttendTask& task, int64_t chunk) {
  if (task.row_count == 0) return 0;
  return (task.row_position + task.row_count - 1) / chunk - task.row_position / chunk + 1;
}

}  // namespace

std::span<const AttendTask> ChunkTasks::divide(std::span<const AttendTask> tasks) {
  if (std::ranges::none_of(tasks, [](const AttendTask& task) { return chunk_of(task) > 0; })) {
    return tasks;
  }
  tasks_.clear();
  segments_.clear();
  size_t segments = 0;  // they must not move, because tasks refer to them
  for (const AttendTask& task : tasks) {
    const int64_t chunk = chunk_of(task);
    if (chunk > 0) {
      segments += static_cast<size_t>(chunks_of_rows(task, chunk)) * task.segments.size();
    }
  }
  segments_.reserve(segments);
  for (const AttendTask& task : tasks) {
    const int64_t chunk = chunk_of(task);
    if (chunk == 0) {
      tasks_.push_back(task);
    } else {
      add(task, chunk);
    }
  }
  return tasks_;
}

void ChunkTasks::add(const AttendTask& task, int64_t chunk) {
  for (int done = 0; done < task.row_count;) {
    const int64_t position = task.row_position + done, begin = position - position % chunk;
    const auto rows =
        static_cast<int>(std::min<int64_t>(task.row_count - done, begin + chunk - position));
    const size_t first = segments_.size();
    for (const KeySegment& s : task.segments) segments_.push_back(keys_of_chunk(s, begin));
    AttendTask own = task;
    own.row_begin += done;
    own.row_count = rows;
    own.row_position = position;
    own.segments = std::span(segments_).subspan(first, task.segments.size());
    tasks_.push_back(own);
    done += rows;
  }
}

}  // namespace longhaul
