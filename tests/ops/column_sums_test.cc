#include "ops/maps/column_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ops/isa_fixture.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::seen_keys;
using testing_support::view_of;

struct ColumnCase {
  KvType type;
  int head_dim, group, rows;
  int64_t past;
};

/// Two KV heads with equal segments, their queries, and the lse that attend() reports.
struct Setting {
  template <class MakeSegments>
  Setting(const ColumnCase& c, AttendCompute compute, MakeSegments&& make_segments)
      : group(c.group) {
    std::mt19937 random(23);
    std::normal_distribution<float> normal;
    const int64_t total = c.past + c.rows;
    for (int h = 0; h < 2; ++h) heads.emplace_back(c.type, c.head_dim, total, random);
    for (int t = 0; t < c.head_dim / 2; ++t) {
      table.inverse_frequency.push_back(std::pow(1e4, -2.0 * t / c.head_dim));
    }
    const int q_heads = 2 * c.group;
    for (auto& form : queries) {
      form.resize(static_cast<size_t>(c.rows * q_heads * c.head_dim));
      for (float& x : form) x = bf16_to_f32(f32_to_bf16(normal(random)));
      forms.push_back(view_of(form));
    }
    out.resize(queries[0].size());
    lse.resize(static_cast<size_t>(c.rows * q_heads));
    call.queries = forms;
    call.heads = q_heads;
    call.head_dim = c.head_dim;
    call.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    call.rotations = &rotations.fill(host_queue(), table, 0, total + 1);
    call.compute = compute;
    call.out = view_of(out);
    call.lse = view_of(lse);
    call.lse_in = view_of(lse);
    for (const PagedHead& head : heads) segments.push_back(make_segments(head.view(), total));
    for (int h = 0; h < 2; ++h) {
      tasks.push_back({h * c.group, c.group, 0, c.rows, c.past, segments[static_cast<size_t>(h)]});
    }
    for (const KeySegment& s : segments[0]) keys += static_cast<size_t>(s.count);
    attend(call, tasks);
  }

  /// Sums and squares of query heads [first, first + count) by the definition.
  void expected(int first, int count, std::vector<double>& sums,
                std::vector<double>& squares) const {
    const size_t list = static_cast<size_t>(first / group);
    sums.assign(keys, 0);
    squares.assign(keys, 0);
    for (int r = 0; r < tasks[0].row_count; ++r) {
      std::vector<double> row(keys);
      for (int head = first; head < first + count; ++head) {
        const auto seen = seen_keys(call, tasks[list], heads[list], table, r, head);
        double sum = 0;
        for (const auto& key : seen) sum += std::exp(key.logit);
        for (const auto& key : seen) row[key.column] += std::exp(key.logit) / sum;
      }
      for (size_t j = 0; j < keys; ++j) {
        sums[j] += row[j];
        squares[j] += row[j] * row[j];
      }
    }
  }

  int group;
  std::vector<PagedHead> heads;
  RopeTable table;
  RotationBuffer rotations;
  std::vector<float> queries[2], out, lse;
  std::vector<View<const float>> forms;
  std::vector<std::vector<KeySegment>> segments;
  std::vector<AttendTask> tasks;
  AttendCall call;
  size_t keys = 0;
};

std::vector<KeySegment> causal_sums(const PagedRows& rows, int64_t total) {
  KeySegment s;
  s.rows = rows;
  s.count = total;
  return {s};
}

template <class MakeSegments>
void check_columns(const ColumnCase& c, AttendCompute compute, MakeSegments&& make_segments) {
  SCOPED_TRACE(testing::Message() << name_of(c.type) << " dim " << c.head_dim << " group "
                                  << c.group << " rows " << c.rows << " past " << c.past);
  Setting s(c, compute, make_segments);
  const size_t heads = static_cast<size_t>(s.call.heads), group = static_cast<size_t>(s.group);
  std::vector<float> sums(2 * s.keys, 1.0f), squares(2 * s.keys, 2.0f);
  std::vector<float> head_sums(heads * s.keys), head_squares(heads * s.keys);
  std::vector<ColumnTarget> shared, own;
  const auto part = [&](std::vector<float>& all, size_t list) {
    const size_t each = all.size() / 2;
    return view_of(all).part(static_cast<int64_t>(list * each), static_cast<int64_t>(each));
  };
  for (size_t h = 0; h < 2; ++h) {
    shared.push_back({part(sums, h), part(squares, h), false});
    own.push_back({part(head_sums, h), part(head_squares, h), true});
  }
  column_sums(s.call, s.tasks, shared);
  column_sums(s.call, s.tasks, own);

  const bool exact = compute == AttendCompute::kF32 || current_isa() < Isa::kAvx512Bf16;
  const double tolerance = exact ? 2e-5 : 1e-2;
  std::vector<double> want, want_squares;
  for (size_t h = 0; h < heads; ++h) {
    s.expected(static_cast<int>(h), 1, want, want_squares);
    for (size_t j = 0; j < s.keys; ++j) {
      const double allowed = tolerance * (1 + want[j]);
      ASSERT_NEAR(head_sums[h * s.keys + j], want[j], allowed) << "head " << h << " key " << j;
      ASSERT_NEAR(head_squares[h * s.keys + j], want_squares[j], allowed);
    }
  }
  for (size_t list = 0; list < 2; ++list) {
    s.expected(static_cast<int>(list * group), s.group, want, want_squares);
    for (size_t j = 0; j < s.keys; ++j) {
      const size_t i = list * s.keys + j;
      ASSERT_NEAR(sums[i], 1 + want[j], tolerance * (2 + want[j])) << "key " << i;
      ASSERT_NEAR(squares[i], 2 + want_squares[j], tolerance * (3 + want_squares[j]))
          << "key " << i;
    }
  }
}

template <class MakeSegments>
void check_everywhere(const std::vector<ColumnCase>& cases, MakeSegments&& make_segments) {
  at_every_isa([&] {
    for (const ColumnCase& c : cases) {
      for (const auto compute : {AttendCompute::kBest, AttendCompute::kF32}) {
        check_columns(c, compute, make_segments);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TEST(ColumnSums, EqualTheDefinitionOverTypesSizesAndGroups) {
  check_everywhere({{DType::BF16, 64, 3, 37, 0},
                    {DType::BF16, 64, 1, 1, 600},
                    {DType::F16, 64, 2, 40, 129},
                    {DType::F32, 80, 2, 3, 70},
                    {DType::Q8_0, 64, 8, 9, 530},
                    {{DType::Q4_0, DType::F16}, 64, 3, 37, 40},
                    {DType::F32, 24, 3, 33, 31}},
                   causal_sums);
}

// A tile holds 32 rows of one head each. 40 heads of a text row are in two tiles, 72 in three.
TEST(ColumnSums, RowsOfManyHeadsThatCrossTheBordersOfTiles) {
  check_everywhere({{DType::BF16, 64, 40, 3, 70}, {DType::F32, 32, 72, 2, 130}}, causal_sums);
}

TEST(ColumnSums, SegmentsOfEveryVisibilityAndOwnQueries) {
  static const std::vector<int32_t> index = {0, 1, 2, 9, 10, 40, 41, 42, 43, 77};
  check_everywhere({{DType::BF16, 64, 3, 20, 140}, {DType::F32, 32, 2, 50, 128}},
                   [](const PagedRows& rows, int64_t total) {
                     KeySegment far;
                     far.rows = rows;
                     far.index = view_of(index);
                     far.count = static_cast<int64_t>(index.size());
                     far.visible = Visibility::kAll;
                     far.query = 1;
                     KeySegment aged;
                     aged.rows = rows;
                     aged.begin = aged.position = 80;
                     aged.count = total - 80;
                     aged.visible = Visibility::kBeyond;
                     aged.window = 50;
                     KeySegment near = aged;
                     near.visible = Visibility::kWindow;
                     near.rotate = true;
                     return std::vector<KeySegment>{far, aged, near};
                   });
}

TEST(ColumnSums, SumToTheNumberOfRows) {
  at_every_isa([] {
    for (const int rows : {1, 31, 200}) {
      Setting s({DType::BF16, 64, 3, rows, 900}, AttendCompute::kBest, causal_sums);
      std::vector<float> sums(2 * s.keys);
      const auto keys = static_cast<int64_t>(s.keys);
      const ColumnTarget targets[] = {{view_of(sums).part(0, keys)}, {view_of(sums).from(keys)}};
      column_sums(s.call, s.tasks, targets);
      const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
      EXPECT_NEAR(total, 6.0 * rows, 6e-3 * rows);
    }
  });
}

TEST(ColumnSums, DoNotDependOnThreads) {
  const RestoreIsaAndThreads restore;
  Setting s({DType::BF16, 64, 3, 100, 1500}, AttendCompute::kBest, causal_sums);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 1}) {
    set_thread_count(threads);
    results.emplace_back(4 * s.keys);
    const View<float> all = view_of(results.back());  // [2, keys] sums, then [2, keys] squares
    const auto keys = static_cast<int64_t>(s.keys);
    const auto list = [&](int64_t i) { return all.part(i * keys, keys); };
    const ColumnTarget targets[] = {{list(0), list(2)}, {list(1), list(3)}};
    column_sums(s.call, s.tasks, targets);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(ColumnSums, RowsThatSawNothingAddNothing) {
  at_every_isa([] {
    Setting s({DType::F32, 32, 2, 40, 0}, AttendCompute::kBest, [](const PagedRows& rows, int64_t) {
      KeySegment late;
      late.rows = rows;
      late.count = 3;
      late.position = 10;
      return std::vector<KeySegment>{late};
    });
    std::vector<float> sums(2 * s.keys);
    const auto keys = static_cast<int64_t>(s.keys);
    const ColumnTarget targets[] = {{view_of(sums).part(0, keys)}, {view_of(sums).from(keys)}};
    column_sums(s.call, s.tasks, targets);
    // 30 of the 40 rows are at position 10 or later, in four heads.
    EXPECT_NEAR(std::accumulate(sums.begin(), sums.end(), 0.0), 30 * 4, 0.5);
  });
}

}  // namespace
}  // namespace longhaul
