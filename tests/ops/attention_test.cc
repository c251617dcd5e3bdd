#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/float_types.h"
#include "base/parallel.h"
#include "ops/attention/merge_attention.h"
#include "ops/core/isa/isa.h"
#include "ops/fake_device.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::seen_keys;
using testing_support::SeenKey;
using testing_support::view_of;
using AttentionHead = testing_support::PagedHead;

struct Result {
  std::vector<double> out;
  double lse;
};

/// The definition in double precision, one row at a time.
Result reference(const AttendCall& call, const AttendTask& task,
                 const std::vector<AttentionHead>& heads, const RopeTable& table, int row,
                 int head) {
  const AttentionHead& kv = heads[static_cast<size_t>(task.head_begin / task.head_count)];
  const std::vector<SeenKey> seen = seen_keys(call, task, kv, table, row, head);
  Result result{std::vector<double>(static_cast<size_t>(call.head_dim)),
                -std::numeric_limits<double>::infinity()};
  const double sink = call.sinks.empty() ? result.lse : host(call.sinks)[static_cast<size_t>(head)];
  if (seen.empty()) return {result.out, sink};
  double top = std::max(sink, seen.front().logit), sum = 0;
  for (const SeenKey& key : seen) top = std::max(top, key.logit);
  sum = std::exp(sink - top);
  for (const SeenKey& key : seen) sum += std::exp(key.logit - top);
  result.lse = top + std::log(sum);
  for (const SeenKey& key : seen) {
    const auto& value = kv.v[static_cast<size_t>(key.row)];
    for (size_t t = 0; t < result.out.size(); ++t) {
      result.out[t] += std::exp(key.logit - result.lse) * value[t];
    }
  }
  return result;
}

struct AttentionCase {
  KvType type;
  int head_dim, group, rows;
  int64_t past;
  float cap = 0;
  bool sinks = false;
  bool in_two = false;  ///< rows see the first segment in a separate call before the others
};

class AttentionTest : public testing::Test {
 protected:
  void TearDown() override {
    set_isa(best_isa());
    set_thread_count(2);
  }

  /// Logits from negligible to dominant.
  static std::vector<float> sink_logits(int heads) {
    std::vector<float> sinks;
    for (int h = 0; h < heads; ++h) sinks.push_back(-3.0f + 3.5f * static_cast<float>(h % 5));
    return sinks;
  }

  /// Two KV heads with segments made by `segments(past + rows)`. Compares every row and head.
  template <class MakeSegments>
  void check(const AttentionCase& c, AttendCompute compute, MakeSegments&& make_segments) {
    std::mt19937 random(17);
    const int64_t total = c.past + c.rows;
    std::vector<AttentionHead> heads;
    for (int h = 0; h < 2; ++h) heads.emplace_back(c.type, c.head_dim, total, random);
    RopeTable table;
    for (int t = 0; t < c.head_dim / 2; ++t) {
      table.inverse_frequency.push_back(std::pow(1e4, -2.0 * t / c.head_dim));
    }
    RotationBuffer buffer;
    const Rotations& rotations = buffer.fill(host_queue(), table, 0, total + 1);

    const int q_heads = 2 * c.group;
    const size_t size = static_cast<size_t>(c.rows) * q_heads * c.head_dim;
    std::normal_distribution<float> normal;
    std::vector<float> q0(size), q1(size), out(size, NAN);
    std::vector<float> lse(static_cast<size_t>(c.rows * q_heads), NAN);
    for (float& x : q0) x = bf16_to_f32(f32_to_bf16(normal(random)));
    for (float& x : q1) x = bf16_to_f32(f32_to_bf16(normal(random)));
    const View<const float> forms[] = {view_of(q0), view_of(q1)};

    AttendCall call;
    call.queries = forms;
    call.heads = q_heads;
    call.head_dim = c.head_dim;
    call.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    call.cap = c.cap;
    const std::vector<float> sinks = sink_logits(q_heads);
    if (c.sinks) call.sinks = view_of(sinks);
    call.rotations = &rotations;
    call.compute = compute;
    call.out = view_of(out);
    call.lse = view_of(lse);
    std::vector<std::vector<KeySegment>> segments;
    for (const AttentionHead& head : heads) segments.push_back(make_segments(head.view(), total));
    std::vector<AttendTask> tasks;
    for (int h = 0; h < 2; ++h) {
      tasks.push_back({h * c.group, c.group, 0, c.rows, c.past, segments[static_cast<size_t>(h)]});
    }
    if (c.in_two) {
      std::vector<AttendTask> before = tasks, behind = tasks;
      for (AttendTask& task : before) task.segments = task.segments.first(1);
      for (AttendTask& task : behind) task.segments = task.segments.subspan(1);
      attend(call, before);
      std::vector<float> more_out(size, NAN), more_lse(lse.size(), NAN);
      AttendCall more = call;
      more.sinks = {};
      more.out = view_of(more_out);
      more.lse = view_of(more_lse);
      attend(more, behind);
      merge_attention(host_queue(), view_of(more_out), view_of(more_lse), c.rows, q_heads,
                      c.head_dim, view_of(out), view_of(lse));
    } else {
      attend(call, tasks);
    }

    // Decode rows multiply the stored values. Keys that are rotated first, and blocks on the matrix
    // unit, are rounded to bf16.
    const bool in_bf16 = c.type.k == DType::BF16 || in_blocks(c.type);
    const bool rounded_again = (in_bf16 && segments[0][0].rotate) ||
                               (in_blocks(c.type) && current_isa() > Isa::kAvx512Bf16);
    const bool decode = (c.rows * c.group <= 8 || c.rows == 1) && !rounded_again;
    const bool exact = compute == AttendCompute::kF32 || decode || current_isa() < Isa::kAvx512Bf16;
    const double tolerance = exact ? 2e-5 : 2e-2;
    for (int r = 0; r < c.rows; ++r) {
      for (int h = 0; h < q_heads; ++h) {
        const Result want =
            reference(call, tasks[static_cast<size_t>(h / c.group)], heads, table, r, h);
        const size_t at = static_cast<size_t>(r * q_heads + h);
        if (std::isinf(want.lse)) {
          ASSERT_TRUE(std::isinf(lse[at])) << "row " << r;
        } else {
          ASSERT_NEAR(lse[at], want.lse, tolerance) << "row " << r << " head " << h;
        }
        for (int t = 0; t < c.head_dim; ++t) {
          ASSERT_NEAR(out[at * static_cast<size_t>(c.head_dim) + static_cast<size_t>(t)],
                      want.out[static_cast<size_t>(t)], tolerance)
              << "row " << r << " head " << h << " element " << t << " isa "
              << name_of(current_isa());
        }
      }
    }
  }

  static bool in_blocks(const KvType& type) {
    return is_block_type(type.k) || is_block_type(type.v);
  }

  template <class MakeSegments>
  void check_everywhere(const std::vector<AttentionCase>& cases, MakeSegments&& make_segments) {
    for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa) {
      set_isa(static_cast<Isa>(isa));
      for (const int threads : {1, 2}) {
        set_thread_count(threads);
        for (const AttentionCase& c : cases) {
          for (const auto compute : {AttendCompute::kBest, AttendCompute::kF32}) {
            SCOPED_TRACE(testing::Message()
                         << name_of(c.type) << " dim " << c.head_dim << " group " << c.group
                         << " rows " << c.rows << " past " << c.past << " isa "
                         << name_of(current_isa()) << " threads " << threads);
            check(c, compute, make_segments);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
};

std::vector<KeySegment> causal(const PagedRows& rows, int64_t total) {
  KeySegment s;
  s.rows = rows;
  s.count = total;
  return {s};
}

TEST_F(AttentionTest, DenseCausalOverTypesSizesAndGroups) {
  check_everywhere({{DType::BF16, 64, 3, 37, 0},
                    {DType::BF16, 64, 1, 1, 600},
                    {DType::BF16, 128, 4, 5, 150},
                    {DType::F16, 64, 2, 40, 129},
                    {DType::F16, 96, 8, 1, 1000},
                    {DType::F32, 64, 3, 33, 31},
                    {DType::F32, 80, 2, 3, 70},
                    {DType::Q8_0, 64, 3, 30, 100},
                    {DType::Q8_0, 64, 3, 1, 777},
                    {DType::Q4_0, 64, 3, 30, 100},
                    {DType::Q4_0, 64, 3, 1, 777},
                    {DType::Q4_0, 32, 1, 1, 9},
                    {DType::Q4_0, 128, 8, 1, 300},
                    {{DType::Q8_0, DType::Q4_0}, 64, 3, 1, 333},
                    {{DType::Q8_0, DType::Q4_0}, 64, 3, 30, 70},
                    {{DType::F16, DType::Q4_0}, 64, 2, 1, 333},
                    {{DType::Q4_0, DType::BF16}, 96, 2, 1, 200},
                    {{DType::F32, DType::F16}, 24, 2, 1, 200},
                    {{DType::F32, DType::F16}, 24, 2, 40, 200},
                    {DType::BF16, 16, 2, 20, 40},
                    {DType::F16, 24, 1, 9, 5},
                    {DType::BF16, 256, 1, 12, 64},
                    {DType::BF16, 64, 16, 1, 300},
                    {DType::BF16, 96, 3, 1, 200},
                    {DType::BF16, 96, 4, 1, 201},
                    {DType::BF16, 32, 2, 1, 130},
                    {DType::BF16, 128, 5, 1, 70},
                    {DType::BF16, 64, 6, 1, 99},
                    {DType::BF16, 64, 7, 1, 65}},
                   causal);
}

TEST_F(AttentionTest, LogitsAreCapped) {
  check_everywhere({{DType::BF16, 64, 3, 37, 20, 1.5f},
                    {DType::F32, 64, 3, 33, 31, 0.5f},
                    {DType::BF16, 64, 3, 1, 300, 1.5f},
                    {DType::F16, 24, 2, 1, 5000, 0.25f},
                    {DType::BF16, 64, 2, 1, 200, 50.0f}},
                   causal);
}

TEST_F(AttentionTest, SinksTakePartInTheSoftmax) {
  check_everywhere({{DType::BF16, 64, 3, 37, 20, 0, true},
                    {DType::F32, 64, 3, 33, 31, 2.0f, true},
                    {DType::BF16, 64, 8, 1, 300, 0, true},
                    {DType::F16, 24, 2, 1, 9000, 0, true}},  // in parts that are merged
                   causal);
  check_everywhere({{DType::BF16, 64, 3, 40, 0, 0, true}, {DType::BF16, 64, 1, 1, 3, 0, true}},
                   [](const PagedRows& rows, int64_t) {
                     KeySegment s;
                     s.rows = rows;
                     s.count = 3;
                     s.position = 10;
                     return std::vector<KeySegment>{s};
                   });
}

TEST_F(AttentionTest, SeveralSegmentsShareOneSoftmax) {
  // InfLLM's shape: an index list at one angle, aged keys, and a causal window with its own query.
  static const std::vector<int32_t> index = {0, 1, 2, 9, 10, 40, 41, 42, 43, 77};
  check_everywhere({{DType::BF16, 64, 3, 20, 140},
                    {DType::F32, 64, 2, 2, 158},
                    {DType::BF16, 64, 3, 20, 140, 0, true, true},
                    {DType::F32, 64, 2, 2, 158, 0, false, true}},
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
                     aged.query = 1;
                     KeySegment near = aged;
                     near.visible = Visibility::kWindow;
                     near.query = 0;
                     return std::vector<KeySegment>{far, aged, near};
                   });
}

TEST_F(AttentionTest, RowsSeeTheirOwnChunk) {
  for (const int64_t size : {1, 32, 50, 500}) {
    check_everywhere({{DType::BF16, 64, 3, 70, 90},
                      {DType::F32, 64, 2, 2, 158},
                      {DType::F32, 64, 1, 1, 150},
                      {DType::Q8_0, 64, 2, 40, 120}},
                     [&](const PagedRows& rows, int64_t total) {
                       KeySegment s;
                       s.rows = rows;
                       s.count = total;
                       s.see_within(size, true);
                       return std::vector<KeySegment>{s};
                     });
  }
}

TEST_F(AttentionTest, RawKeysAreRotatedAtListOrAbsolutePositions) {
  static std::vector<int32_t> index;
  index.clear();
  for (int32_t i = 0; i < 170; i += 1 + i % 3) index.push_back(i);
  for (const bool absolute : {false, true}) {
    check_everywhere({{DType::BF16, 64, 3, 9, 161},
                      {DType::BF16, 64, 3, 1, 169},
                      {DType::F16, 64, 1, 1, 169},
                      {DType::Q8_0, 64, 2, 10, 160},
                      {DType::Q4_0, 64, 2, 1, 169},
                      {{DType::Q4_0, DType::Q8_0}, 64, 2, 10, 160},
                      {DType::F32, 64, 2, 1, 169},
                      {DType::F32, 64, 3, 9, 161}},
                     [&](const PagedRows& rows, int64_t total) {
                       KeySegment s;
                       s.rows = rows;
                       s.index = view_of(index);
                       s.count = static_cast<int64_t>(index.size());
                       s.rotate = true;
                       s.indexed_positions = absolute;
                       s.position = absolute ? 0 : total - s.count;
                       s.visible = Visibility::kCausal;
                       return std::vector<KeySegment>{s};
                     });
  }
}

TEST_F(AttentionTest, ARowThatSeesNothingIsZero) {
  check_everywhere({{DType::BF16, 64, 3, 40, 0}, {DType::BF16, 64, 1, 1, 3}},
                   [](const PagedRows& rows, int64_t) {
                     KeySegment s;
                     s.rows = rows;
                     s.count = 3;
                     s.position = 10;
                     return std::vector<KeySegment>{s};
                   });
}

TEST(ResolveCounts, PutsWhatOperationsCountedIntoTheSegments) {
  const std::vector<int32_t> index = {4, 7, 9}, two = {2}, none = {0};
  KeySegment plain, counted, moved;
  plain.count = 5;
  plain.position = 40;
  counted.index = view_of(index);
  counted.count = 3;
  counted.device_count = view_of(two);
  counted.position = 10;
  moved.count = 6;
  moved.position = 20;
  moved.count_after = view_of(two);
  std::vector<KeySegment> segments = {plain, counted, moved, counted};
  segments[3].device_count = view_of(none);
  segments[3].count_after = view_of(two);
  resolve_counts(segments);
  const int64_t counts[] = {5, 2, 6, 0}, positions[] = {40, 10, 18, 8};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(segments[i].count, counts[i]) << i;
    EXPECT_EQ(segments[i].position, positions[i]) << i;
    EXPECT_TRUE(segments[i].device_count.empty() && segments[i].count_after.empty()) << i;
  }
  EXPECT_FALSE(segments[3].index.empty());  // an empty list, not the stretch from `begin` on
}

TEST(AttentionFaults, ArraysThatAreTooSmallOrElsewhereStopTheProgram) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  std::mt19937 random(1);
  const AttentionHead head(DType::F32, 32, 8, random);
  KeySegment s;
  s.rows = head.view();
  s.count = 8;
  const AttendTask task{0, 1, 0, 2, 6, {&s, 1}};
  std::vector<float> q(64), out(64);
  const View<const float> form = view_of(q);
  AttendCall call;
  call.queries = {&form, 1};
  call.heads = 1;
  call.head_dim = 32;
  call.out = view_of(out);
  attend(call, {&task, 1});
  call.out = view_of(out).part(0, 63);
  EXPECT_DEATH(attend(call, {&task, 1}), "internal error");
  call.out = View<float>(out.data(), 64, Place{0});
  EXPECT_DEATH(attend(call, {&task, 1}), "internal error");
  call.out = view_of(out);
  Queue device = testing_support::fake_queue();
  call.queue = &device;
  EXPECT_DEATH(attend(call, {&task, 1}), "internal error");
}

TEST(AttentionOnCopies, SinksOfADeviceComeToTheHost) {
  std::mt19937 random(1);
  const AttentionHead head(DType::F32, 32, 8, random);
  KeySegment s;
  s.rows = head.view();
  s.count = 8;
  const AttendTask task{0, 2, 0, 1, 7, {&s, 1}};
  std::vector<float> q(64, 0.1f), sinks = {2.0f, -1.0f}, out(64), wanted(64);
  const View<const float> form = view_of(q), form_there(q.data(), 64, Place{0});
  AttendCall call;
  call.queries = {&form, 1};
  call.heads = 2;
  call.head_dim = 32;
  call.scale = 1;
  call.sinks = view_of(sinks);
  call.out = view_of(wanted);
  attend(call, {&task, 1});

  Queue device = testing_support::fake_queue();  // a device without attention
  call.queue = &device;
  call.queries = {&form_there, 1};
  call.sinks = View<const float>(sinks.data(), 2, Place{0});
  call.out = View<float>(out.data(), 64, Place{0});
  s.rows.place = Place{0};
  attend(call, {&task, 1});
  EXPECT_EQ(out, wanted);
}

}  // namespace
}  // namespace longhaul
