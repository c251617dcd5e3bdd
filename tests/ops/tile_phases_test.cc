// The GPU's lines and lists of tile keys, run by a loop in place of threads.

#include "ops/choose/tile_phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "ops/choose/page_phases.h"
#include "ops/choose/tile_lists.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using TileRows = std::vector<int32_t>;
using testing_support::view_of;

TileRows copy_of(View<const int32_t> view) { return {host(view).begin(), host(view).end()}; }

/// Scores in which a share of `1 / every` is high.
std::vector<float> some_scores(int64_t count, uint32_t every, std::mt19937& random) {
  std::vector<float> scores(static_cast<size_t>(count));
  for (float& x : scores) {
    x = static_cast<float>(random() % 1000) / 1000 + (random() % every == 0 ? 5.0f : 0.0f);
  }
  return scores;
}

/// The device's output for rows at `position`.
struct Listed {
  TileRows index, counts;
};
Listed in_tile_phases(cuda::TileTask task, size_t room) {
  Listed listed{TileRows(room + 1, -7), TileRows(3, -7)};
  task.index = listed.index.data();
  task.counts = listed.counts.data();
  const auto shared = std::make_unique<cuda::TileShared>();
  cuda::list_tile_keys(cuda::HostBlock{}, *shared, task);
  EXPECT_EQ(listed.index.back(), -7);
  EXPECT_EQ(listed.counts.back(), -7);
  return listed;
}

TEST(RunPhases, AreTheHostsRuns) {
  std::mt19937 random(3);
  const auto shared = std::make_unique<cuda::RunShared>();
  for (const int64_t keys : {1, 100, 131, 3000, 9000}) {
    for (const int64_t slash : {0, 1, 40, 2500}) {
      for (const int tile : {1, 64, 128}) {
        const std::vector<float> scores = some_scores(keys, 30, random);
        LineChoice chosen;
        const LineTask task{view_of(scores), view_of(scores), 0, slash, &chosen};
        choose_lines(host_queue(), {&task, 1}, tile);
        const TileRows distances = copy_of(chosen.diagonal_rows.rows.view());
        TileRows runs(2 * distances.size() + 1, -7);
        int32_t count = -7;
        cuda::merge_runs(
            cuda::HostBlock{}, *shared,
            {distances.data(), static_cast<int32_t>(distances.size()), tile, runs.data(), &count});
        EXPECT_EQ(runs.back(), -7);
        ASSERT_EQ(count, host(chosen.run_count.view())[0]);
        runs.resize(static_cast<size_t>(2 * count));
        TileRows expected = copy_of(chosen.runs.view());
        expected.resize(runs.size());
        EXPECT_EQ(runs, expected) << keys << " keys, " << slash << ", tile " << tile;
      }
    }
  }
}

/// The tasks of a head whose list has pages without memory.
std::span<const AttendTask> tasks_of(const TileGrid& grid, const TileRule& rule,
                                     TileLists& memory) {
  static const PagedRows list{nullptr, 64, 64};
  return tile_lists(host_queue(), grid, 0, grid.rows, {&rule, 1}, {&list, 1}, memory);
}

TileRows tile_list(const AttendTask& task) {
  const KeySegment& first = task.segments.front();
  return first.index.empty() ? TileRows() : copy_of(first.index);
}

TEST(TilePhases, ListTheHostsLines) {
  std::mt19937 random(4);
  for (const int64_t begin : {0, 5, 64, 5000, 150000}) {
    for (const int64_t slash : {0, 200, 3000}) {
      const TileGrid grid{64, begin, 200};
      const std::vector<float> columns = some_scores(grid.keys(), 50, random);
      const std::vector<float> diagonals = some_scores(grid.keys(), 90, random);
      LineChoice chosen;
      const LineTask task{view_of(columns), view_of(diagonals), 500, slash, &chosen};
      choose_lines(host_queue(), {&task, 1}, grid.tile);
      const TileRows lines = copy_of(chosen.columns.rows), runs = copy_of(chosen.runs.view());
      const int32_t run_count = host(chosen.run_count.view())[0];
      TileRule rule{.kind = TileRule::Kind::kLines};
      rule.lines = &chosen;
      TileLists memory;
      for (const AttendTask& tile : tasks_of(grid, rule, memory)) {
        cuda::TileTask there{};
        there.columns = lines.data();
        there.runs = runs.data();
        there.run_count = &run_count;
        there.own = tile.row_position / grid.tile;
        there.position = tile.row_position;
        there.column_count = static_cast<int32_t>(lines.size());
        there.tile = grid.tile;
        there.own_keys = tile.row_count;
        const TileRows expected = tile_list(tile);
        Listed listed = in_tile_phases(there, expected.size());
        EXPECT_EQ(listed.counts[0], std::ssize(expected));
        EXPECT_EQ(listed.counts[1], tile.row_count);
        listed.index.pop_back();
        EXPECT_EQ(listed.index, expected) << "at " << tile.row_position;
      }
    }
  }
}

TEST(TilePhases, ListTheHostsBlocks) {
  std::mt19937 random(5);
  for (const int tile : {64, 128}) {
    for (const int64_t begin : {0, 70, 640, 300000}) {
      const TileGrid grid{tile, begin, 300};
      std::vector<uint8_t> marks(static_cast<size_t>(grid.tiles() * grid.blocks()));
      for (uint8_t& mark : marks) mark = random() % 3 == 0;
      TileRule rule{.kind = TileRule::Kind::kBlocks};
      rule.blocks = view_of(std::as_const(marks));
      TileLists memory;
      for (const AttendTask& task : tasks_of(grid, rule, memory)) {
        cuda::TileTask there{};
        there.own = task.row_position / tile;
        there.position = task.row_position;
        there.tile = tile;
        there.pages = tile / 64;
        there.own_keys = static_cast<int32_t>(there.position - there.own * tile) + task.row_count;
        there.blocks = marks.data() + (there.own - grid.first_tile()) * grid.blocks();
        // The host also lists the keys of a tile's own block before its rows.
        TileRows expected;
        bool own = false;
        for (const KeySegment& s : task.segments) {
          own = own || s.index.empty();
          if (s.index.empty()) continue;
          for (const int32_t row : host(s.index)) {
            if (row < there.own * tile && row % 64 == 0) expected.push_back(row / 64);
          }
        }
        Listed listed = in_tile_phases(there, expected.size());
        EXPECT_EQ(listed.counts[0], 64 * std::ssize(expected));
        EXPECT_EQ(listed.counts[1], own ? there.own_keys : 0);
        listed.index.pop_back();
        EXPECT_EQ(listed.index, expected) << "at " << task.row_position;
      }
    }
  }
}

/// The keys that each row of a host task sees, in ascending order.
std::vector<TileRows> rows_of_host(const AttendTask& task) {
  std::vector<TileRows> seen(static_cast<size_t>(task.row_count));
  for (int r = 0; r < task.row_count; ++r) {
    TileRows& keys = seen[static_cast<size_t>(r)];
    for (const KeySegment& s : task.segments) {
      for (int64_t i = 0; i < s.count; ++i) {
        const int64_t key = s.index.empty() ? s.begin + i : host(s.index)[static_cast<size_t>(i)];
        if (s.visible == Visibility::kAll || key <= task.row_position + r) {
          keys.push_back(static_cast<int32_t>(key));
        }
      }
    }
  }
  return seen;
}

/// A list of pages with the given capacity.
struct PageRoom {
  explicit PageRoom(size_t room) : pages(room + 1, -7), masks(2 * room + 1, 7) {}
  cuda::SeenPages list() { return {pages.data(), masks.data(), &keys}; }
  void check() const {
    EXPECT_EQ(pages.back(), -7);
    EXPECT_EQ(masks.back(), 7u);
    ASSERT_GE(keys, 0);
    ASSERT_LT(static_cast<size_t>(keys / 64), pages.size());
    ASSERT_EQ(keys % 64, 0);
  }
  /// Rows of pages that tile t sees.
  TileRows seen_by(size_t t) const {
    TileRows rows;
    for (size_t p = 0; p < static_cast<size_t>(keys / 64); ++p) {
      for (int n = 0; n < 64; ++n) {
        if ((masks[2 * p + t] >> n & 1) != 0) rows.push_back(64 * pages[p] + n);
      }
    }
    return rows;
  }

  TileRows pages;
  std::vector<uint64_t> masks;
  int32_t keys = -7;
};

/// Compares one or two host tiles, listed together.
void check_pages(std::span<const AttendTask> tiles, const TileRows& columns, const TileRows& runs,
                 int32_t run_count, bool copies, cuda::PageShared& shared) {
  const int64_t position = tiles[0].row_position;
  const int rows[2] = {tiles[0].row_count, tiles.size() > 1 ? tiles[1].row_count : 0};
  PageRoom text(static_cast<size_t>(position + rows[0] + rows[1] + 63) / 64);
  PageRoom copied((columns.size() + 63) / 64);
  int64_t pairs = -7, expected_pairs = 0;
  cuda::list_tile_pages(cuda::HostBlock{}, shared,
                        {.columns = columns.data(),
                         .runs = runs.data(),
                         .run_count = &run_count,
                         .position = position,
                         .column_count = static_cast<int32_t>(columns.size()),
                         .rows = {rows[0], rows[1]},
                         .text = text.list(),
                         .copies = copies ? copied.list() : cuda::SeenPages{},
                         .pairs = &pairs});
  ASSERT_NO_FATAL_FAILURE(text.check());
  if (copies) {
    ASSERT_NO_FATAL_FAILURE(copied.check());
  }
  for (size_t t = 0; t < tiles.size(); ++t) {
    TileRows of_tile = text.seen_by(t);
    if (copies) {
      for (const int32_t column : copied.seen_by(t)) {
        ASSERT_LT(static_cast<size_t>(column), columns.size());
        of_tile.push_back(columns[static_cast<size_t>(column)]);
      }
    }
    std::sort(of_tile.begin(), of_tile.end());
    const std::vector<TileRows> expected = rows_of_host(tiles[t]);
    for (int r = 0; r < tiles[t].row_count; ++r) {
      TileRows seen = of_tile;
      std::erase_if(seen, [&](int32_t key) { return key > tiles[t].row_position + r; });
      ASSERT_EQ(seen, expected[static_cast<size_t>(r)])
          << "row " << r << " of the tile at " << tiles[t].row_position << ", copies " << copies;
      expected_pairs += std::ssize(seen);
    }
  }
  EXPECT_EQ(pairs, expected_pairs);
}

TEST(PagePhases, ListWhatTheHostsTilesSee) {
  std::mt19937 random(6);
  const auto shared = std::make_unique<cuda::PageShared>();
  for (const int64_t begin : {0, 5, 64, 5000, 150016}) {
    for (const int64_t slash : {0, 200, 3000}) {
      const TileGrid grid{64, begin, 330};
      const std::vector<float> columns = some_scores(grid.keys(), 50, random);
      const std::vector<float> diagonals = some_scores(grid.keys(), 90, random);
      LineChoice chosen;
      const LineTask task{view_of(columns), view_of(diagonals), slash == 200 ? 0 : 500, slash,
                          &chosen};
      choose_lines(host_queue(), {&task, 1}, grid.tile);
      const TileRows lines = copy_of(chosen.columns.rows), runs = copy_of(chosen.runs.view());
      const int32_t run_count = host(chosen.run_count.view())[0];
      TileRule rule{.kind = TileRule::Kind::kLines};
      rule.lines = &chosen;
      TileLists memory;
      const auto tiles = tasks_of(grid, rule, memory);
      for (size_t i = 0; i < tiles.size(); i += tiles[i].row_count == 64 ? 2 : 1) {
        const size_t two = tiles[i].row_count == 64 && i + 1 < tiles.size() ? 2 : 1;
        for (const bool copies : {false, true}) {
          check_pages(tiles.subspan(i, two), lines, runs, run_count, copies, *shared);
        }
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
