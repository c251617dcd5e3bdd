#include "ops/choose/tile_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "base/parallel.h"
#include "ops/seen_keys_of_tasks.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::keys_seen;
using testing_support::SeenKeys;
using testing_support::view_of;

/// Checks that rows [first, end) of the heads of `rules` see exactly the keys with sees(head,
/// position, key).
void expect_keys(const TileGrid& grid, int64_t first, int64_t end, std::span<const TileRule> rules,
                 int lists, const std::function<bool(int, int64_t, int64_t)>& sees) {
  const std::vector<PagedRows> rows(static_cast<size_t>(lists));
  TileLists memory;
  for (int round = 0; round < 2; ++round) {  // the second time with used memory
    const auto tasks = tile_lists(host_queue(), grid, first, end, rules, rows, memory);
    const SeenKeys seen = keys_seen(tasks);
    SeenKeys want;
    for (int head = 0; head < static_cast<int>(rules.size()); ++head) {
      if (rules[static_cast<size_t>(head)].kind == TileRule::Kind::kNothing) continue;
      for (int64_t r = first; r < end; ++r) {
        auto& keys = want[{head, static_cast<int>(r)}];
        for (int64_t j = 0; j <= grid.begin + r; ++j) {
          if (sees(head, grid.begin + r, j)) keys.insert(j);
        }
      }
    }
    EXPECT_EQ(seen, want) << "begin " << grid.begin << " rows " << grid.rows;
  }
}

TEST(TileLists, BlocksAreThoseThatAreMarked) {
  std::mt19937 random(4);
  for (const TileGrid& grid : {TileGrid{8, 0, 1}, TileGrid{8, 0, 8}, TileGrid{8, 0, 61},
                               TileGrid{8, 13, 30}, TileGrid{8, 24, 40}, TileGrid{64, 63, 66}}) {
    std::vector<std::vector<uint8_t>> marks(3);
    std::vector<TileRule> rules(4);  // the second head is attended elsewhere
    for (size_t i = 0; i < 3; ++i) {
      for (int64_t n = grid.tiles() * grid.blocks(); n > 0; --n) {
        marks[i].push_back(static_cast<uint8_t>(random() % 3 == 0 ? 1 + random() % 200 : 0));
      }
      TileRule& rule = rules[i == 0 ? 0 : i + 1];
      rule.kind = TileRule::Kind::kBlocks;
      rule.blocks = view_of(marks[i]);
    }
    const auto sees = [&](int head, int64_t i, int64_t j) {
      const auto& of_head = marks[head == 0 ? 0 : static_cast<size_t>(head - 1)];
      const int64_t tile = i / grid.tile - grid.begin / grid.tile;
      return of_head[static_cast<size_t>(tile * grid.blocks() + j / grid.tile)] != 0;
    };
    expect_keys(grid, 0, grid.rows, rules, 2, sees);
    if (grid.rows > 20) expect_keys(grid, 7, 20, rules, 1, sees);  // the range cuts tiles
  }
}

TEST(TileLists, AnAShapeIsSinksAndAWindow) {
  for (const TileGrid& grid : {TileGrid{8, 0, 40}, TileGrid{8, 5, 33}, TileGrid{8, 3, 2}}) {
    std::vector<TileRule> rules(3);
    const int64_t sinks[] = {0, 3, 100}, windows[] = {1, 9, 2};
    for (size_t h = 0; h < 3; ++h) {
      rules[h].kind = TileRule::Kind::kAShape;
      rules[h].sink = sinks[h];
      rules[h].window = windows[h];
    }
    expect_keys(grid, 0, grid.rows, rules, 3, [&](int head, int64_t i, int64_t j) {
      return j < sinks[head] || i - j < windows[head];
    });
  }
}

TEST(TileLists, LinesAreColumnsAndDiagonals) {
  std::mt19937 random(5);
  for (const auto& [begin, rows] : {std::pair<int64_t, int64_t>{0, 1}, {0, 130}, {700, 201}}) {
    const TileGrid grid{16, begin, rows};
    std::vector<float> columns(static_cast<size_t>(grid.keys())), diagonals(columns);
    for (float& x : columns) x = static_cast<float>(random() % 50);  // makes ties
    for (float& x : diagonals) x = static_cast<float>(random() % 50);
    LineChoice chosen;
    const LineTask task{view_of(columns), view_of(diagonals), 40, 103, &chosen};
    choose_lines(host_queue(), {&task, 1}, grid.tile);
    std::set<int32_t> seen_columns;
    for (const int32_t c : host_rows(chosen.columns)) seen_columns.insert(c);
    std::vector<int64_t> order(diagonals.size());
    for (size_t o = 0; o < order.size(); ++o) order[o] = static_cast<int64_t>(o);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const auto value = [&](int64_t o) {
        return o < 100 ? INFINITY : diagonals[static_cast<size_t>(o)];
      };
      return value(a) > value(b);
    });
    order.resize(std::min<size_t>(order.size(), 103));
    TileRule rule;
    rule.kind = TileRule::Kind::kLines;
    rule.lines = &chosen;
    const auto sees = [&](int, int64_t i, int64_t j) {
      if (seen_columns.count(static_cast<int32_t>(j)) > 0) return true;
      const int64_t tile_end = (i / 16 + 1) * 16;
      for (const int64_t o : order) {
        const int64_t end = std::max<int64_t>(16, tile_end - o);
        if (o < tile_end && j >= end - 16 && j < end) return true;
      }
      return false;
    };
    expect_keys(grid, 0, rows, {&rule, 1}, 1, sees);
  }
}

TEST(TileLists, DoNotDependOnTheThreads) {
  const int threads = thread_count();
  std::vector<uint8_t> marks(9 * 9, 1);
  const TileGrid grid{4, 0, 36};
  std::vector<TileRule> rules(6);
  for (TileRule& rule : rules) {
    rule.kind = TileRule::Kind::kBlocks;
    rule.blocks = view_of(marks);
  }
  for (const int count : {1, 2, 5}) {
    set_thread_count(count);
    expect_keys(grid, 0, 36, rules, 2, [](int, int64_t, int64_t) { return true; });
  }
  set_thread_count(threads);
}

}  // namespace
}  // namespace longhaul
