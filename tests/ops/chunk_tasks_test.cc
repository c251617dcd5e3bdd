// Tasks divided at the borders of chunks show each row the same keys.

#include "ops/attention/chunk_tasks.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "ops/attention/visible_keys.h"

namespace longhaul {
namespace {

/// Stored rows with their positions that (head, row) sees. Fails if two tasks have the same row.
using SeenByRows = std::map<std::pair<int, int>, std::set<std::pair<int64_t, int64_t>>>;

SeenByRows seen_by_rows(std::span<const AttendTask> tasks) {
  SeenByRows seen;
  for (const AttendTask& task : tasks) {
    for (int r = 0; r < task.row_count; ++r) {
      auto& own = seen[{task.head_begin, task.row_begin + r}];
      EXPECT_TRUE(own.empty());
      for (const KeySegment& s : task.segments) {
        const KeyRange keys = visible_keys(s, task.row_position + r);
        for (int64_t i = keys.begin; i < keys.end; ++i) own.insert({row_of(s, i), s.position + i});
      }
    }
  }
  return seen;
}

KeySegment chunked_keys(int64_t begin, int64_t count, int64_t position, int64_t chunk) {
  KeySegment keys;
  keys.begin = begin;
  keys.count = count;
  keys.position = position;
  keys.visible = Visibility::kChunk;
  keys.window = chunk;
  return keys;
}

TEST(ChunkTasks, RowsSeeTheSameKeys) {
  std::vector<int32_t> listed(40);
  std::iota(listed.begin(), listed.end(), 3);
  for (const int64_t chunk : {1, 8, 13, 100}) {
    for (const int64_t position : {0, 5, 8, 39}) {
      for (const int rows : {0, 1, 7, 30}) {
        KeySegment by_range = chunked_keys(2, position + rows, 0, chunk);
        KeySegment by_index = chunked_keys(0, 40, position, chunk);
        by_index.index = std::span<const int32_t>(listed);
        const AttendTask tasks[] = {{0, 2, 4, rows, position, {&by_range, 1}},
                                    {2, 2, 4, rows, position, {&by_index, 1}}};
        ChunkTasks divided;
        const std::span<const AttendTask> parts = divided.divide(tasks);
        for (const AttendTask& part : parts) {
          for (const KeySegment& s : part.segments) EXPECT_EQ(s.visible, Visibility::kCausal);
        }
        EXPECT_EQ(seen_by_rows(parts), seen_by_rows(tasks)) << chunk << " " << position;
      }
    }
  }
}

TEST(ChunkTasks, OtherTasksStayAsTheyAre) {
  KeySegment chunk = chunked_keys(0, 20, 0, 8), window = chunk;
  window.visible = Visibility::kWindow;
  const AttendTask plain[] = {{0, 1, 0, 20, 0, {&window, 1}}};
  ChunkTasks divided;
  EXPECT_EQ(divided.divide(plain).data(), plain);
  const AttendTask both[] = {plain[0], {1, 1, 0, 20, 0, {&chunk, 1}}};
  const std::span<const AttendTask> parts = divided.divide(both);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts.front().segments.data(), &window);
  EXPECT_EQ(parts.back().row_begin, 16);
  EXPECT_EQ(parts.back().row_count, 4);
  EXPECT_EQ(seen_by_rows(parts), seen_by_rows(both));
}

}  // namespace
}  // namespace longhaul
