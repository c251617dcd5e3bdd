#include "ops/choose/tile_keys.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

std::vector<int32_t> before(const TileKeys& keys) {
  return {keys.before().begin(), keys.before().end()};
}

TEST(TileKeys, StretchesMergeAndEndAtTheTile) {
  TileKeys keys;
  keys.clear(10);
  keys.add(1, 3);
  keys.add(2, 4);
  keys.add(2, 4);
  keys.add(6, 7);
  EXPECT_FALSE(keys.own());
  keys.add(8, 10);
  EXPECT_FALSE(keys.own());
  keys.add(9, 14);
  EXPECT_TRUE(keys.own());
  EXPECT_EQ(before(keys), (std::vector<int32_t>{1, 2, 3, 6, 8, 9}));
  keys.clear(0);
  keys.add(0, 5);
  EXPECT_TRUE(keys.own());
  EXPECT_TRUE(keys.before().empty());
}

TEST(TileKeys, TasksSeeTheirListAndThemselves) {
  TileKeys keys[3];
  const RowTile tiles[] = {{0, 0, 4, 10}, {5, 2, 2, 12}, {1, 0, 4, 10}};
  for (size_t i = 0; i < 3; ++i) keys[i].clear(tiles[i].position);
  keys[0].add(2, 5);
  keys[0].add(10, 14);
  keys[1].add(0, 3);
  std::vector<KeySegment> segments;
  PagedRows lists[2];
  lists[1].head_dim = 7;
  std::vector<AttendTask> tasks;
  tile_tasks(tiles, keys, lists, 3, segments, tasks);
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].segments.size(), 2u);
  EXPECT_EQ(tasks[1].segments.size(), 1u);
  EXPECT_EQ(tasks[1].segments[0].rows.head_dim, 7);
  EXPECT_TRUE(tasks[2].segments.empty());
  EXPECT_EQ(visible_pairs(tasks), (4 * 3 + 10) + 2 * 3 + 0);
}

TEST(TileKeys, AnAShapeIsSinksAndAWindow) {
  TileKeys keys[2];
  const RowTile tiles[] = {{0, 0, 4, 0}, {0, 4, 4, 4}};
  for (size_t i = 0; i < 2; ++i) {
    keys[i].clear(tiles[i].position);
    keys[i].set_a_shape(1, 2);
  }
  std::vector<KeySegment> segments;
  const PagedRows lists[1] = {};
  // Rows 0..7 see 1, 2, 3, 3, ... keys.
  std::vector<AttendTask> tasks;
  tile_tasks(tiles, keys, lists, 1, segments, tasks);
  EXPECT_EQ(visible_pairs(tasks), 1 + 2 + 6 * 3);
}

}  // namespace
}  // namespace longhaul
