// Column sums of softmax maps on a GPU compared with the host's in f32.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cuda/score_setting.h"
#include "ops/core/convert.h"
#include "ops/maps/maps.gpu.h"

namespace longhaul::cuda {
namespace {

/// Sums and squares of a setting from the host and from all kernels that the device has for them.
void expect_columns(ScoreSetting& s, bool per_head, bool squares, double off) {
  const int64_t lists = per_head ? s.shape.group : 1;
  const auto each = static_cast<size_t>(lists * s.keys());
  const std::vector<std::vector<float>> first(s.tasks.size(), random_floats(each, 5));
  std::vector<std::vector<float>> sums = first, more = first;
  std::vector<ColumnTarget> targets;
  for (size_t i = 0; i < s.tasks.size(); ++i) {
    targets.push_back({view_of(sums[i]), squares ? view_of(more[i]) : View<float>(), per_head});
  }
  longhaul::column_sums(s.here, s.tasks, targets);
  for (const bool sm90 : {true, false}) {
    SCOPED_TRACE(sm90 ? "wgmma where it can be" : "mma");
    std::vector<OnDevice<float>> sums_there, more_there;
    std::vector<ColumnTarget> targets_there;
    for (size_t i = 0; i < s.tasks.size(); ++i) {
      sums_there.emplace_back(first[i]);
      more_there.emplace_back(first[i]);
    }
    for (size_t i = 0; i < s.tasks.size(); ++i) {
      targets_there.push_back({view_of(sums_there[i], each),
                               squares ? view_of(more_there[i], each) : View<float>(), per_head});
    }
    s.scratch.allow_sm90 = sm90;
    ASSERT_TRUE(column_sums(nullptr, s.there, s.tasks_there, targets_there, s.scratch));
    for (size_t i = 0; i < s.tasks.size(); ++i) {
      expect_close(sums_there[i].get(), sums[i], off, off);
      expect_close(more_there[i].get(), more[i], off, off);
    }
  }
}

void test_columns(const ScoreShape& shape, bool rotate, bool per_head, bool squares) {
  SCOPED_TRACE(name_of(shape) + (rotate ? ", rotated" : "") + (per_head ? ", per head" : "") +
               (squares ? ", squares" : ""));
  ScoreSetting s(shape);
  const MixedSegments make(s, rotate);
  s.see(make);
  s.attend_here();
  expect_columns(s, per_head, squares, rotate ? 0.03 : tolerance(shape));
}

TEST(CudaColumnSums, EqualTheHosts) {
  for (const ScoreShape& shape : kScoreShapes) {
    for (const bool per_head : {false, true}) {
      for (const bool squares : {false, true}) test_columns(shape, false, per_head, squares);
    }
  }
}

TEST(CudaColumnSums, RotateOnRead) {
  for (const ScoreShape& shape : kScoreShapes) {
    for (const bool squares : {false, true}) test_columns(shape, true, false, squares);
  }
}

/// Shapes for the wgmma kernel that end in every way within its 128 (row, head) rows and 128 keys.
/// 1,024 and more (row, head) rows are divided into parts.
TEST(CudaColumnSums, OfManyRowsEqualTheHosts) {
  const ScoreShape shapes[] = {
      {DType::BF16, 128, 2, 4, 512, 700},       {DType::BF16, 64, 1, 3, 700, 900},
      {DType::F16, 128, 1, 7, 150, 400},        {DType::F32, 64, 2, 1, 257, 300},
      {DType::BF16, 128, 1, 2, 300, 200, 2.0f}, {DType::Q8_0, 128, 1, 8, 128, 130},
      {DType::BF16, 64, 1, 5, 129, 127},        {DType::BF16, 128, 1, 1, 1025, 255},
      {DType::BF16, 64, 1, 16, 64, 1200},       {DType::Q4_0, 64, 1, 4, 64, 129},
      {DType::BF16, 128, 1, 4, 33, 95},
  };
  for (const ScoreShape& shape : shapes) {
    for (const bool per_head : {false, true}) test_columns(shape, false, per_head, false);
    test_columns(shape, true, false, false);
  }
}

/// Rows of the call that belong to no task are not read, or do not affect the result.
TEST(CudaColumnSums, DoNotSeeOtherRows) {
  for (const ScoreShape& shape : {ScoreShape{DType::BF16, 128, 2, 4, 400, 300},
                                  ScoreShape{DType::BF16, 64, 2, 3, 300, 100}}) {
    for (const int count : {1, 31, 60, 129, 280}) {
      SCOPED_TRACE(name_of(shape) + ", of them " + std::to_string(count));
      ScoreSetting s(shape);
      const MixedSegments make(s, false);
      s.see(make);
      constexpr int kBegin = 11;
      for (auto* tasks : {&s.tasks, &s.tasks_there}) {
        for (AttendTask& task : *tasks) {
          task.row_begin = kBegin;
          task.row_count = count;
          task.row_position = shape.past + kBegin;
        }
      }
      s.attend_here();
      const auto spoil = [&](OnDevice<float>& there, std::vector<float> numbers) {
        const auto row = std::ssize(numbers) / shape.rows;
        std::fill(numbers.begin(), numbers.begin() + kBegin * row, NAN);
        std::fill(numbers.begin() + (kBegin + count) * row, numbers.end(), NAN);
        there.set(numbers);
      };
      spoil(*s.lse_there, s.lse);
      for (size_t form = 0; form < 2; ++form) spoil(s.queries_there[form], s.queries[form]);
      for (const bool per_head : {false, true}) {
        expect_columns(s, per_head, false, tolerance(shape));
      }
    }
  }
}

/// The sums of every task's only segment, with `rounded` queries or with the call's own.
std::vector<float> sums_of_first(ScoreSetting& s, View<const uint8_t> rounded) {
  const auto keys = static_cast<size_t>(s.keys());
  std::vector<OnDevice<float>> sums;
  for (size_t i = 0; i < s.tasks.size(); ++i) sums.emplace_back(std::vector<float>(keys));
  std::vector<ColumnTarget> targets;
  for (const auto& each : sums) targets.push_back({view_of(each, keys), {}, false});
  AttendCall call = s.there;
  call.queries = call.queries.first(1);
  call.rounded = rounded;
  EXPECT_TRUE(column_sums(nullptr, call, s.tasks_there, targets, s.scratch));
  std::vector<float> all;
  for (const auto& each : sums) {
    const std::vector<float> one = each.get();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

TEST(CudaColumnSums, ReadQueriesThatAreRoundedAlready) {
  for (const ScoreShape& shape :
       {ScoreShape{DType::BF16, 128, 2, 4, 200, 300}, ScoreShape{DType::BF16, 80, 2, 2, 70, 30}}) {
    ScoreSetting s(shape);
    s.see([&](const PagedRows& rows, int) {
      KeySegment all{.rows = rows, .count = s.total};
      return std::vector<KeySegment>{all};
    });
    for (auto* tasks : {&s.tasks, &s.tasks_there}) {
      for (AttendTask& task : *tasks) {  // does not begin at the call's first row
        task.row_begin = 5;
        task.row_count -= 5;
        task.row_position += 5;
      }
    }
    s.attend_here();
    std::vector<uint8_t> bytes(s.queries[0].size() * sizeof(bf16_t));
    f32_to_bf16(s.queries[0].data(), std::ssize(s.queries[0]),
                reinterpret_cast<bf16_t*>(bytes.data()));
    const OnDevice<uint8_t> rounded(bytes);
    EXPECT_EQ(sums_of_first(s, view_of(rounded, bytes.size())), sums_of_first(s, {}));
  }
}

void expect_the_same_every_time(const ScoreShape& shape) {
  SCOPED_TRACE(name_of(shape));
  ScoreSetting s(shape);
  const MixedSegments make(s, false);
  s.see(make);
  s.attend_here();
  std::vector<std::vector<float>> results;
  for (int run = 0; run < 3; ++run) {
    std::vector<float> zeros(static_cast<size_t>(s.keys()));
    std::vector<OnDevice<float>> sums;
    for (size_t i = 0; i < s.tasks.size(); ++i) sums.emplace_back(zeros);
    std::vector<ColumnTarget> targets;
    for (const auto& each : sums) targets.push_back({view_of(each, zeros.size()), {}, false});
    ASSERT_TRUE(column_sums(nullptr, s.there, s.tasks_there, targets, s.scratch));
    results.push_back(sums[0].get());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(CudaColumnSums, AreTheSameEveryTime) {
  expect_the_same_every_time(kScoreShapes[0]);
  expect_the_same_every_time({DType::BF16, 128, 1, 4, 1000, 0});  // with several parts
}

}  // namespace
}  // namespace longhaul::cuda
