#pragma once
// ChunkTasks divides attention tasks at the borders of chunks (Visibility::kChunk), for kernels
// that only limit the distance between a row and its keys.

#include <span>
#include <vector>

#include "ops/attention/attention.h"

namespace longhaul {

class ChunkTasks {
 public:
  /// Returns equivalent tasks without chunks: a task for the rows of each chunk, whose keys begin
  /// with the first key of that chunk. Returns `tasks` if none of them has chunks. The result is
  /// valid until the next call and as long as `tasks` is. All segments with chunks of a task have
  /// the same length of a chunk, and no masks or lengths that an operation produces.
  std::span<const AttendTask> divide(std::span<const AttendTask> tasks);

 private:
  void add(const AttendTask& task, int64_t chunk);

  std::vector<AttendTask> tasks_;
  std::vector<KeySegment> segments_;
};

}  // namespace longhaul
