#include "attention/methods/minference/pattern_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::view_of;

constexpr int kPatternDim = 32, kPatternTile = 64, kPatternHeads = 4, kRows = 200;
constexpr float kScale = 0.2f;

/// Two KV heads of a context of length `kRows`, in which every row is a query.
struct PatternSetting {
  PatternSetting() {
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    for (int list = 0; list < 2; ++list) lists.emplace_back(DType::F32, kPatternDim, kRows, random);
    for (const PagedHead& list : lists) views.push_back(list.view());
    queries.resize(kRows * kPatternHeads * kPatternDim);
    for (float& x : queries) x = normal(random);
    for (int list = 0; list < 2; ++list) {
      segments.push_back({.rows = views[static_cast<size_t>(list)], .count = kRows});
    }
    form = view_of(queries);
    rows.call.queries = {&form, 1};
    rows.call.heads = kPatternHeads;
    rows.call.head_dim = kPatternDim;
    rows.call.scale = kScale;
    rows.grid = {kPatternTile, 0, kRows};
    rows.lists = views;
    marks.resize(static_cast<size_t>(kPatternHeads * rows.grid.tiles() * rows.grid.blocks()), 7);
    rows.marks = view_of(marks);
    for (int list = 0; list < 2; ++list) {
      tasks.push_back({.head_begin = 2 * list,
                       .head_count = 2,
                       .row_begin = kRows - kLast,
                       .row_count = kLast,
                       .row_position = kRows - kLast,
                       .segments = {&segments[static_cast<size_t>(list)], 1}});
    }
    rows.last = tasks;
  }

  double product(int row, int head, int key) const {
    const float* const q = queries.data() + (row * kPatternHeads + head) * kPatternDim;
    const auto& k = lists[static_cast<size_t>(head / 2)].k[static_cast<size_t>(key)];
    double sum = 0;
    for (size_t t = 0; t < kPatternDim; ++t) sum += double{q[t]} * k[t];
    return sum;
  }

  /// Attention from the last rows to each key, summed over the rows.
  std::vector<double> columns(int head) const {
    std::vector<double> sums(kRows);
    for (int row = kRows - kLast; row < kRows; ++row) {
      double all = 0;
      for (int key = 0; key <= row; ++key) all += std::exp(kScale * product(row, head, key));
      for (int key = 0; key <= row; ++key) {
        sums[static_cast<size_t>(key)] += std::exp(kScale * product(row, head, key)) / all;
      }
    }
    return sums;
  }

  /// Product of a tile's mean query and a block's mean key, times both counts.
  double mean_product(int head, int tile, int block) const {
    double sum = 0;
    for (int row = tile * kPatternTile; row < std::min(kRows, (tile + 1) * kPatternTile); ++row) {
      for (int key = block * kPatternTile; key < std::min(kRows, (block + 1) * kPatternTile);
           ++key) {
        sum += product(row, head, key);
      }
    }
    return sum / std::min(kPatternTile, kRows - block * kPatternTile);
  }

  static constexpr int kLast = 16;
  std::vector<PagedHead> lists;
  std::vector<PagedRows> views;
  std::vector<float> queries;
  View<const float> form;
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
  std::vector<uint8_t> marks;
  PatternedRows rows;
};

TEST(PatternRules, FillEveryKindInWithWhatIsFound) {
  PatternSetting s;
  constexpr int64_t kColumns = 40;
  const HeadPattern patterns[] = {{PatternKind::kAShape, 3, 90},
                                  {PatternKind::kVerticalSlash, kColumns, 100},
                                  {PatternKind::kBlocks, 2, 0},
                                  {PatternKind::kVerticalSlash, kColumns, 100}};
  std::vector<TileRule> rules(kPatternHeads);
  PatternRules found;
  found.choose(s.rows, patterns, rules);

  EXPECT_EQ(rules[0].kind, TileRule::Kind::kAShape);
  EXPECT_EQ(rules[0].sink, 3);
  EXPECT_EQ(rules[0].window, 90);

  for (const int head : {1, 3}) {
    ASSERT_EQ(rules[static_cast<size_t>(head)].kind, TileRule::Kind::kLines);
    const std::vector<double> sums = s.columns(head);
    std::vector<int32_t> want;
    for (int32_t key = 0; key < kRows; ++key) want.push_back(key);
    const auto later = want.begin() + kForcedColumns;  // the first keys are always included
    std::sort(later, want.end(), [&](int32_t a, int32_t b) {
      return sums[static_cast<size_t>(a)] > sums[static_cast<size_t>(b)];
    });
    want.resize(kColumns);
    std::sort(want.begin(), want.end());
    const auto got = host_rows(rules[static_cast<size_t>(head)].lines->columns);
    EXPECT_EQ(std::vector<int32_t>(got.begin(), got.end()), want) << "head " << head;
  }

  ASSERT_EQ(rules[2].kind, TileRule::Kind::kBlocks);
  const auto marks = host(rules[2].blocks);
  const int blocks = static_cast<int>(s.rows.grid.blocks());
  for (int tile = 0; tile < blocks; ++tile) {
    for (int block = 0; block < blocks; ++block) {
      int better = 0;
      for (int other = 0; other <= tile; ++other) {
        better += s.mean_product(2, tile, other) > s.mean_product(2, tile, block) ? 1 : 0;
      }
      const bool want = block <= tile && better < 2;
      EXPECT_EQ(marks[static_cast<size_t>(tile * blocks + block)], want ? 1 : 0)
          << "tile " << tile << ", block " << block;
    }
  }
}

TEST(PatternRules, HeadsThatAnotherPartAttendsHaveNone) {
  PatternSetting s;
  const uint8_t only[] = {0, 1};
  s.rows.only = only;
  s.rows.last = s.rows.last.last(1);
  const std::vector<HeadPattern> patterns(kPatternHeads, {PatternKind::kBlocks, 1, 0});
  std::vector<TileRule> rules(kPatternHeads);
  PatternRules found;
  found.choose(s.rows, patterns, rules);
  for (size_t head = 0; head < rules.size(); ++head) {
    EXPECT_EQ(rules[head].kind, head < 2 ? TileRule::Kind::kNothing : TileRule::Kind::kBlocks);
  }
}

}  // namespace
}  // namespace longhaul
