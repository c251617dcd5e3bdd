#include "ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/float_types.h"
#include "base/parallel.h"
#include "ops/cpu/isa.h"

namespace longhaul {
namespace {

constexpr int kPageRows = 32;

/// Keys and values of one KV head in pages, beside the f32 numbers that the pages really hold.
struct Head {
  Head(DType dtype, int dim, int64_t rows, std::mt19937& random) : head_dim(dim), type(dtype) {
    const size_t row_bytes = bytes_of(type, dim);
    std::normal_distribution<float> normal;
    for (int64_t r = 0; r < rows; ++r) {
      if (r % kPageRows == 0) storage.emplace_back(2 * kPageRows * row_bytes);
      for (const bool value : {false, true}) {
        std::vector<float> x(static_cast<size_t>(dim));
        for (float& e : x) e = normal(random);
        std::byte* at = storage.back().data() +
                        static_cast<size_t>(r % kPageRows + (value ? kPageRows : 0)) * row_bytes;
        encode(x, at);
        (value ? v : k).push_back(x);
      }
    }
    for (const auto& page : storage) pages.push_back(page.data());
  }

  void encode(std::vector<float>& x, std::byte* at) const {
    for (size_t t = 0; t < x.size(); ++t) {
      const uint16_t bf16 = f32_to_bf16(x[t]), f16 = f32_to_f16(x[t]);
      if (type == DType::F32) std::memcpy(at + 4 * t, &x[t], 4);
      if (type == DType::BF16) std::memcpy(at + 2 * t, &bf16, 2), x[t] = bf16_to_f32(bf16);
      if (type == DType::F16) std::memcpy(at + 2 * t, &f16, 2), x[t] = f16_to_f32(f16);
      if (type == DType::Q8_0) {
        const uint16_t scale = f32_to_f16(0.02f);
        const int8_t q = static_cast<int8_t>(std::lround(std::clamp(x[t] / 0.02f, -127.f, 127.f)));
        std::memcpy(at + t / 32 * 34, &scale, 2);
        std::memcpy(at + t / 32 * 34 + 2 + t % 32, &q, 1);
        x[t] = static_cast<float>(q) * f16_to_f32(scale);
      }
    }
  }

  PagedRows view() const { return {pages.data(), kPageRows, head_dim, type}; }

  int head_dim;
  DType type;
  std::vector<std::vector<std::byte>> storage;
  std::vector<const std::byte*> pages;
  std::vector<std::vector<float>> k, v;
};

std::vector<double> rotated(const std::vector<float>& x, const RopeTable& table, double position) {
  const size_t half = table.inverse_frequency.size();
  std::vector<double> y(x.begin(), x.end());
  for (size_t t = 0; t < half; ++t) {
    const double angle = position * table.inverse_frequency[t];
    y[t] = x[t] * std::cos(angle) - x[t + half] * std::sin(angle);
    y[t + half] = x[t + half] * std::cos(angle) + x[t] * std::sin(angle);
  }
  return y;
}

struct Result {
  std::vector<double> out;
  double lse;
};

/// The definition, in double precision, one row at a time.
Result reference(const AttendCall& call, const AttendTask& task, const std::vector<Head>& heads,
                 const RopeTable& table, int row, int head) {
  const Head& kv = heads[static_cast<size_t>(task.head_begin / task.head_count)];
  const int64_t at = task.row_position + row - task.row_begin;
  std::vector<double> logits;
  std::vector<const std::vector<float>*> values;
  for (const KeySegment& s : task.segments) {
    const float* q = call.queries[static_cast<size_t>(s.query)] +
                     (static_cast<int64_t>(row) * call.heads + head) * call.head_dim;
    for (int64_t i = 0; i < s.count; ++i) {
      const int64_t stored = s.index != nullptr ? s.index[i] : s.begin + i;
      const int64_t p = s.indexed_positions ? s.position + s.index[i] : s.position + i;
      bool sees = true;
      if (s.visible == Visibility::kCausal) sees = p <= at;
      if (s.visible == Visibility::kWindow) sees = p <= at && at - p < s.window;
      if (s.visible == Visibility::kBeyond) sees = at - p >= s.window;
      if (!sees) continue;
      const auto& raw = kv.k[static_cast<size_t>(stored)];
      const auto key = s.rotate ? rotated(raw, table, static_cast<double>(p))
                                : std::vector<double>(raw.begin(), raw.end());
      double dot = 0;
      for (int t = 0; t < call.head_dim; ++t) dot += q[t] * key[static_cast<size_t>(t)];
      logits.push_back(dot * call.scale);
      values.push_back(&kv.v[static_cast<size_t>(stored)]);
    }
  }
  Result result{std::vector<double>(static_cast<size_t>(call.head_dim)),
                -std::numeric_limits<double>::infinity()};
  if (logits.empty()) return result;
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double x : logits) sum += std::exp(x - top);
  result.lse = top + std::log(sum);
  for (size_t j = 0; j < logits.size(); ++j) {
    for (size_t t = 0; t < result.out.size(); ++t) {
      result.out[t] += std::exp(logits[j] - result.lse) * (*values[j])[t];
    }
  }
  return result;
}

struct Case {
  DType type;
  int head_dim, group, rows;
  int64_t past;
};

class AttentionTest : public testing::Test {
 protected:
  void TearDown() override {
    set_isa(best_isa());
    set_thread_count(2);
  }

  /// Two KV heads; segments made by `segments(past + rows)`; compares every row and head.
  template <class MakeSegments>
  void check(const Case& c, AttendCompute compute, MakeSegments&& make_segments) {
    std::mt19937 random(17);
    const int64_t total = c.past + c.rows;
    std::vector<Head> heads;
    for (int h = 0; h < 2; ++h) heads.emplace_back(c.type, c.head_dim, total, random);
    RopeTable table;
    for (int t = 0; t < c.head_dim / 2; ++t) {
      table.inverse_frequency.push_back(std::pow(1e4, -2.0 * t / c.head_dim));
    }
    RotationBuffer buffer;
    const Rotations& rotations = buffer.fill(table, 0, total + 1);

    const int q_heads = 2 * c.group;
    const size_t size = static_cast<size_t>(c.rows) * q_heads * c.head_dim;
    std::normal_distribution<float> normal;
    std::vector<float> q0(size), q1(size), out(size, NAN);
    std::vector<float> lse(static_cast<size_t>(c.rows * q_heads), NAN);
    for (float& x : q0) x = bf16_to_f32(f32_to_bf16(normal(random)));
    for (float& x : q1) x = bf16_to_f32(f32_to_bf16(normal(random)));
    const float* forms[] = {q0.data(), q1.data()};

    AttendCall call;
    call.queries = forms;
    call.heads = q_heads;
    call.head_dim = c.head_dim;
    call.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    call.rotations = &rotations;
    call.compute = compute;
    call.out = out.data();
    call.lse = lse.data();
    std::vector<std::vector<KeySegment>> segments;
    for (const Head& head : heads) segments.push_back(make_segments(head.view(), total));
    std::vector<AttendTask> tasks;
    for (int h = 0; h < 2; ++h) {
      tasks.push_back({h * c.group, c.group, 0, c.rows, c.past, segments[static_cast<size_t>(h)]});
    }
    attend(call, tasks);

    const bool exact = compute == AttendCompute::kF32 || c.rows * c.group <= 8 || c.rows == 1 ||
                       current_isa() < Isa::kAvx512Bf16;
    const double tolerance = exact ? 2e-5 : 2e-2;
    for (int r = 0; r < c.rows; ++r) {
      for (int h = 0; h < q_heads; ++h) {
        const Result want = reference(call, tasks[static_cast<size_t>(h / c.group)], heads, table, r, h);
        const size_t at = static_cast<size_t>(r * q_heads + h);
        if (std::isinf(want.lse)) {
          ASSERT_TRUE(std::isinf(lse[at])) << "row " << r;
        } else {
          ASSERT_NEAR(lse[at], want.lse, tolerance) << "row " << r << " head " << h;
        }
        for (int t = 0; t < c.head_dim; ++t) {
          ASSERT_NEAR(out[at * static_cast<size_t>(c.head_dim) + static_cast<size_t>(t)],
                      want.out[static_cast<size_t>(t)], tolerance)
              << "row " << r << " head " << h << " element " << t << " isa " << name_of(current_isa());
        }
      }
    }
  }

  template <class MakeSegments>
  void check_everywhere(std::vector<Case> cases, MakeSegments&& make_segments) {
    for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa) {
      set_isa(static_cast<Isa>(isa));
      for (const int threads : {1, 2}) {
        set_thread_count(threads);
        for (const Case& c : cases) {
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
                    {DType::BF16, 16, 2, 20, 40},
                    {DType::F16, 24, 1, 9, 5},
                    {DType::BF16, 256, 1, 12, 64},
                    {DType::BF16, 64, 16, 1, 300}},
                   causal);
}

TEST_F(AttentionTest, SeveralSegmentsShareOneSoftmax) {
  // InfLLM's shape: an index list at one angle, aged keys, and a causal window of its own query.
  static const std::vector<int32_t> index = {0, 1, 2, 9, 10, 40, 41, 42, 43, 77};
  check_everywhere({{DType::BF16, 64, 3, 20, 140}, {DType::F32, 64, 2, 2, 158}},
                   [](const PagedRows& rows, int64_t total) {
                     KeySegment far;
                     far.rows = rows;
                     far.index = index.data();
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

TEST_F(AttentionTest, RawKeysAreRotatedAtListOrAbsolutePositions) {
  static std::vector<int32_t> index;
  index.clear();
  for (int32_t i = 0; i < 170; i += 1 + i % 3) index.push_back(i);
  for (const bool absolute : {false, true}) {
    check_everywhere(
        {{DType::BF16, 64, 3, 9, 161}, {DType::F16, 64, 1, 1, 169}, {DType::Q8_0, 64, 2, 10, 160}},
        [&](const PagedRows& rows, int64_t total) {
          KeySegment s;
          s.rows = rows;
          s.index = index.data();
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

TEST(VisiblePairs, CountsTriangleBandAndComplement) {
  KeySegment s;
  s.count = 8;
  AttendTask task{0, 2, 0, 8, 0, {&s, 1}};
  EXPECT_EQ(visible_pairs({&task, 1}), 2 * 36);
  s.visible = Visibility::kWindow;
  s.window = 3;
  EXPECT_EQ(visible_pairs({&task, 1}), 2 * (1 + 2 + 3 * 6));
  s.visible = Visibility::kBeyond;
  EXPECT_EQ(visible_pairs({&task, 1}), 2 * (36 - 21));
}

}  // namespace
}  // namespace longhaul
