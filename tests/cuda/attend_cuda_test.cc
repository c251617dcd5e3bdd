// Attention on a GPU compared with a double-precision loop on the host. Without a GPU the program
// reports that and tests nothing. It needs the device code of ops, but not the engine.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "cuda/attend_shape.h"
#include "ops/attention/attend.gpu.h"
#include "ops/core/elementwise.gpu.h"

namespace longhaul::cuda {
namespace {

/// Segments like those of methods: a sink, a list, and nearby keys, or only one of these.
std::vector<KeySegment> random_segments(const AttendShape& shape, const Pages& pages,
                                        size_t kv_head, int64_t row_position,
                                        std::vector<int32_t>& index, std::mt19937& random) {
  std::vector<KeySegment> segments;
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  const int count = 1 + static_cast<int>(below(3));
  for (int i = 0; i < count; ++i) {
    KeySegment s;
    s.rows = pages.head(kv_head);
    s.begin = below(pages.rows);
    s.count = 1 + below(pages.rows - s.begin);
    if (below(4) == 0) s.begin = 0, s.count = pages.rows;
    s.visible = static_cast<Visibility>(below(4));
    s.window = 1 + below(pages.rows);
    s.position = below(3) == 0 ? s.begin : row_position - pages.rows + below(pages.rows / 2 + 1);
    s.query = static_cast<int>(below(2));
    if (!shape.plain) {
      s.rotate = below(2) == 0;
      if (below(2) == 0 && index.empty()) {
        for (int32_t r = 0; r < pages.rows; ++r) {
          if (below(3) == 0) index.push_back(r);
        }
        if (!index.empty()) {
          s.index = View<const int32_t>(std::span<const int32_t>(index));
          s.count = static_cast<int64_t>(index.size());
          s.indexed_positions = below(2) == 0;
        }
      }
    }
    segments.push_back(s);
  }
  return segments;
}

struct Wanted {
  std::vector<double> out;
  double lse;
};

Wanted by_definition(const AttendShape& shape, const Pages& pages, const AttendTask& task,
                     size_t kv_head, const std::vector<std::vector<float>>& queries,
                     const Tables& tables, float scale, bool stored, int row, int head) {
  const size_t dim = static_cast<size_t>(shape.head_dim), half = static_cast<size_t>(tables.half);
  const int64_t at = task.row_position + row - task.row_begin;
  std::vector<double> logits;
  std::vector<const std::vector<float>*> values;
  for (const KeySegment& s : task.segments) {
    const float* q = queries[static_cast<size_t>(s.query)].data() +
                     static_cast<size_t>(row * shape.heads + head) * dim;
    for (int64_t i = 0; i < s.count; ++i) {
      const int64_t row_number = s.index.empty() ? s.begin + i : s.index.address()[i];
      const int64_t p = s.position + (s.indexed_positions ? row_number : i);
      const bool causal = p <= at;
      if (s.visible == Visibility::kCausal && !causal) continue;
      if (s.visible == Visibility::kWindow && !(causal && at - p < s.window)) continue;
      if (s.visible == Visibility::kBeyond && at - p < s.window) continue;
      std::vector<float> key = pages.k[kv_head][static_cast<size_t>(row_number)];
      if (!stored) std::ranges::transform(key, key.begin(), rounded);
      if (s.rotate) {
        const size_t first = static_cast<size_t>(p - tables.first) * half;
        for (size_t t = 0; t < half; ++t) {
          const float a = key[t], b = key[t + half];
          const float c = tables.cosine[first + t], n = tables.sine[first + t];
          key[t] = rounded(a * c - b * n);
          key[t + half] = rounded(b * c + a * n);
        }
      }
      double dot = 0;
      for (size_t t = 0; t < dim; ++t) dot += static_cast<double>(rounded(q[t])) * key[t];
      const double logit = dot * scale;
      logits.push_back(shape.cap > 0 ? shape.cap * std::tanh(logit / shape.cap) : logit);
      values.push_back(&pages.v[kv_head][static_cast<size_t>(row_number)]);
    }
  }
  const double sink = shape.sinks ? sink_logits(shape)[static_cast<size_t>(head)]
                                  : -std::numeric_limits<double>::infinity();
  Wanted want{std::vector<double>(dim), sink};
  if (logits.empty()) return want;
  const double top = std::max(sink, *std::max_element(logits.begin(), logits.end()));
  double sum = std::exp(sink - top);
  for (size_t j = 0; j < logits.size(); ++j) {
    const double weight = std::exp(logits[j] - top);
    sum += weight;
    for (size_t t = 0; t < dim; ++t) want.out[t] += weight * (*values[j])[t];
  }
  for (double& x : want.out) x /= sum;
  want.lse = top + std::log(sum);
  return want;
}

/// One call with several tasks, one per KV head. Compares every (row, head) of some rows.
/// `in_two`: one call sees the first segment, another the others, and the results are merged.
void compare(const AttendShape& shape, bool sm90, uint32_t seed, bool in_two = false) {
  std::mt19937 random(seed);
  const int kv_heads = shape.heads / shape.group;
  Pages pages(shape.type, shape.head_dim, kv_heads, shape.keys, random);
  const int64_t row_position = shape.keys - shape.rows / 2 - 1;
  const Tables tables(shape.rotary_dim, -shape.keys - shape.rows - 64,
                      5 * shape.keys + 3 * shape.rows + 128, seed % 3 == 1 ? 1.2f : 1.0f);
  const OnDevice<float> cosine(tables.cosine), sine(tables.sine);
  const Rotations rotations{
      .first = tables.first,
      .count = static_cast<int64_t>(tables.cosine.size()) / std::max(1, tables.half),
      .rotary_dim = shape.rotary_dim,
      .place = Place{0},
      .cosine = cosine.data(),
      .sine = sine.data()};

  const size_t width = static_cast<size_t>(shape.heads * shape.head_dim);
  const int pad = 3;  // rows before the tasks, which must not change
  const size_t rows = static_cast<size_t>(shape.rows + pad);
  std::vector<std::vector<float>> queries(2, std::vector<float>(rows * width));
  std::normal_distribution<float> normal;
  for (auto& form : queries) {
    for (float& x : form) x = normal(random);
  }
  const OnDevice<float> first(queries[0]), second(queries[1]);
  const View<const float> forms[2] = {first.view(), second.view()};
  const OnDevice<float> out(std::vector<float>(rows * width, 777.0f));
  const OnDevice<float> lse(std::vector<float>(rows * static_cast<size_t>(shape.heads), 777.0f));

  std::vector<std::vector<int32_t>> index(static_cast<size_t>(kv_heads));
  std::vector<std::vector<KeySegment>> segments;
  for (size_t h = 0; h < index.size(); ++h) {
    segments.push_back(random_segments(shape, pages, h, row_position, index[h], random));
  }
  // The device form of the segments. In every second case, lists of rows and pages are device
  // memory.
  std::vector<std::vector<KeySegment>> given = segments;
  std::vector<OnDevice<int32_t>> device_lists;
  std::vector<OnDevice<const std::byte*>> device_pages;
  for (size_t h = 0; h < given.size() && seed % 2 == 1; ++h) {
    device_lists.emplace_back(index[h]);
    device_pages.emplace_back(pages.lists[h]);
    for (KeySegment& s : given[h]) {
      s.rows.listed = device_pages.back().data();
      if (!s.index.empty()) s.index = device_lists.back().view();
    }
  }
  std::vector<AttendTask> tasks, given_tasks;
  for (int h = 0; h < kv_heads; ++h) {
    tasks.push_back({h * shape.group, shape.group, pad, shape.rows, row_position,
                     segments[static_cast<size_t>(h)]});
    given_tasks.push_back(tasks.back());
    given_tasks.back().segments = given[static_cast<size_t>(h)];
  }
  AttendCall call;
  call.queries = forms;
  call.heads = shape.heads;
  call.head_dim = shape.head_dim;
  call.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  call.cap = shape.cap;
  const OnDevice<float> sinks(sink_logits(shape));
  if (shape.sinks) call.sinks = sinks.view();
  call.rotations = &rotations;
  call.out = out.view();
  call.lse = lse.view();
  Scratch scratch;
  scratch.pages = pages.range;
  scratch.allow_sm90 = sm90;
  if (in_two) {
    std::vector<AttendTask> before = given_tasks;
    for (AttendTask& task : before) task.segments = task.segments.first(1);
    attend(nullptr, call, before, scratch);
    for (AttendTask& task : given_tasks) task.segments = task.segments.subspan(1);
    call.sinks = {};
    const OnDevice<float> more(std::vector<float>(rows * width, 0.0f));
    const OnDevice<float> more_lse(std::vector<float>(lse.back().size(), -INFINITY));
    call.out = more.view();
    call.lse = more_lse.view();
    attend(nullptr, call, given_tasks, scratch);
    merge_attention(nullptr, more.data(), more_lse.data(), std::ssize(lse.back()), shape.head_dim,
                    out.data(), lse.data());
  } else {
    attend(nullptr, call, given_tasks, scratch);
  }
  ok(cudaDeviceSynchronize());
  const std::vector<float> got = out.back(), got_lse = lse.back();
  for (size_t i = 0; i < pad * width; ++i) ASSERT_EQ(got[i], 777.0f);
  for (size_t i = 0; i < size_t{pad} * static_cast<size_t>(shape.heads); ++i) {
    ASSERT_EQ(got_lse[i], 777.0f);
  }

  const bool stored = as_stored(shape, segments);
  double worst = 0, worst_lse = 0;
  const int step = std::max(1, shape.rows / 24);
  for (int r = pad; r < pad + shape.rows;
       r = r + 1 == pad + shape.rows ? r + 1 : std::min(r + step, pad + shape.rows - 1)) {
    for (int head = 0; head < shape.heads; ++head) {
      const size_t kv = static_cast<size_t>(head / shape.group);
      const Wanted want =
          by_definition(shape, pages, tasks[kv], kv, queries, tables, call.scale, stored, r, head);
      const size_t at = static_cast<size_t>(r * shape.heads + head);
      if (std::isinf(want.lse)) {
        ASSERT_EQ(got_lse[at], want.lse) << "row " << r << " head " << head;
      } else {
        worst_lse = std::max(worst_lse,
                             std::abs(got_lse[at] - want.lse) / std::max(1.0, std::abs(want.lse)));
        ASSERT_NEAR(got_lse[at], want.lse, lse_error(shape) * std::max(1.0, std::abs(want.lse)))
            << "row " << r << " head " << head;
      }
      double error = 0, norm = 0;
      for (int t = 0; t < shape.head_dim; ++t) {
        const double x = got[at * static_cast<size_t>(shape.head_dim) + static_cast<size_t>(t)];
        const double w = want.out[static_cast<size_t>(t)];
        error += (x - w) * (x - w);
        norm += w * w;
      }
      worst = std::max(worst, std::sqrt(error / std::max(norm, 1e-30)));
      ASSERT_LE(std::sqrt(error), out_error(shape) * std::sqrt(norm) + 1e-30)
          << "row " << r << " head " << head;
    }
  }
  if (::testing::Test::HasFailure()) {
    std::printf("type %s dim %d rows %d keys %ld cap %g sinks %d sm90 %d seed %u\n",
                name_of(shape.type).c_str(), shape.head_dim, shape.rows,
                static_cast<long>(shape.keys), shape.cap, shape.sinks, sm90, seed);
  }
}

class OfShape : public ::testing::TestWithParam<std::tuple<KvType, int>> {
 protected:
  /// Tasks of several forms: heads in groups, rows from one to some tiles. A third has caps, and as
  /// many have sinks.
  void run(bool plain, bool sm90) {
    const auto [type, dim] = GetParam();
    if (!can_attend(dim, 64, type)) return;
    uint32_t seed = static_cast<uint32_t>(dim) * 131;
    const int rotary[3] = {dim, dim / 2, dim / 4 * 2 - 4};
    for (const auto& [heads, group] : {std::pair(6, 2), std::pair(9, 3), std::pair(4, 4)}) {
      for (const int rows : {1, 4, 5, 40, 130, 300}) {
        for (const int64_t keys : {7, 200, 1500}) {
          if (keys < rows && keys != 7) continue;
          AttendShape shape{type, dim, rotary[++seed % 3], heads, group, rows, keys, plain};
          if (seed % 4 == 1) shape.cap = 1.5f;  // logits reach 4
          if (seed % 5 < 2) shape.sinks = true;
          compare(shape, sm90, seed, seed % 4 < 2);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
};

TEST_P(OfShape, EveryKindOfSegmentEqualsTheDefinition) { run(false, true); }
TEST_P(OfShape, StretchesByTheKernelOfAllCardsEqualTheDefinition) { run(true, false); }
TEST_P(OfShape, StretchesEqualTheDefinition) { run(true, true); }

constexpr KvType kTypes[] = {DType::BF16,
                             DType::F16,
                             DType::F32,
                             DType::Q8_0,
                             DType::Q4_0,
                             {DType::Q8_0, DType::Q4_0},
                             {DType::BF16, DType::Q8_0},
                             {DType::Q4_0, DType::F16}};
INSTANTIATE_TEST_SUITE_P(Attend, OfShape,
                         ::testing::Combine(::testing::ValuesIn(kTypes),
                                            ::testing::Values(64, 80, 96, 112, 128, 256)));

/// Heads of 512 elements, and latent rows of 576 that all query heads share.
class OfWideHeads : public ::testing::TestWithParam<std::tuple<KvType, int>> {};

TEST_P(OfWideHeads, EveryKindOfSegmentEqualsTheDefinition) {
  const auto [type, dim] = GetParam();
  const bool latent = dim == kLatentTestDim;
  if (latent && (type.k != type.v || type.k == DType::Q4_0)) return;  // refused
  int major = 0;
  ok(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major != 9) return;
  uint32_t seed = static_cast<uint32_t>(dim);
  const int rotary[3] = {latent ? 64 : 512, latent ? 32 : 256, 28};
  for (const auto& [heads, group] : {std::pair(6, 2), std::pair(20, 20), std::pair(130, 130)}) {
    for (const int rows : {1, 5, 70}) {
      if (rows * heads > 650) continue;  // the definition is slow
      for (const int64_t keys : {7, 200, 700}) {
        for (const bool plain : {true, false}) {
          AttendShape shape{type, dim, rotary[++seed % 3], heads, group, rows, keys, plain};
          if (seed % 4 == 1) shape.cap = 1.5f;
          if (seed % 5 < 2) shape.sinks = true;
          compare(shape, true, seed, seed % 4 < 2);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  compare({type, dim, rotary[0], 4, 4, 1, 9000, true}, true, 5);
  compare({type, dim, rotary[0], 4, 4, 2, 9000, true, 0, true}, true, 9);
}

INSTANTIATE_TEST_SUITE_P(Attend, OfWideHeads,
                         ::testing::Combine(::testing::ValuesIn(kTypes),
                                            ::testing::Values(512, kLatentTestDim)));

TEST(Attend, KeysAreSplitWhereThereAreDecodeRows) {
  for (const int rows : {1, 3, 128}) {
    for (const int dim : {64, 128}) {
      for (const bool sm90 : {false, true}) {
        for (const uint32_t seed : {5, 9, 10}) {
          for (const bool in_two : {false, true}) {
            compare({DType::BF16, dim, dim, 8, 4, rows, 20000, true}, sm90, seed, in_two);
          }
        }
      }
      compare({DType::Q8_0, dim, dim, 8, 4, rows, 20000, false}, true, 6);
      compare({{DType::Q4_0, DType::Q8_0}, dim, dim, 8, 4, rows, 6000, true}, true, 7);
    }
  }
}

/// A large card makes more parts than its shared memory holds at once: up to 264 for one head, in
/// 110 KB. A part needs 4 (D + 2) bytes per head.
TEST(Attend, ManyPartsAreMergedSomeAtATime) {
  for (const int dim : {128, 256}) {
    compare({DType::BF16, dim, dim, 1, 1, 1, 90000, true}, true, 8);
    compare({DType::BF16, dim, dim, 4, 2, 1, 60000, true}, true, 8);
    compare({DType::Q8_0, dim, dim, 40, 8, 1, 20000, true}, true, 8);
  }
}

/// Stretches that begin anywhere in a page, and lists, divided into parts, with further segments
/// that do not rotate. Heads rotate as a whole or partly.
TEST(Attend, KeysRotateAsTheyAreRead) {
  const KvType types[] = {DType::BF16, DType::F16, DType::Q8_0, DType::Q4_0};
  for (const KvType& type : types) {
    for (const int dim : {64, 80, 96, 112, 128, 256}) {
      if (!can_attend(dim, 64, type)) continue;
      for (uint32_t seed = 1; seed <= 6; ++seed) {
        const int64_t keys = seed % 2 == 0 ? 5000 : 333;
        const int rotary = seed == 6 ? dim / 2 : dim;
        compare({type, dim, rotary, 8, 4, seed % 3 == 0 ? 3 : 1, keys, false}, true, seed);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// The merge runs in a unit's last part, or in a kernel of its own (many parts, many rows).
TEST(Attend, ASinkIsCountedOnceHoweverTheKeysAreSplit) {
  for (const int dim : {64, 256}) {
    for (const int rows : {1, 4, 128}) {
      for (const int64_t keys : {900, 5000}) {
        for (const bool sm90 : {false, true}) {
          compare({DType::BF16, dim, dim, 8, 4, rows, keys, true, 2.0f, true}, sm90, 7);
        }
      }
    }
  }
}

/// Parts of a unit arrive in any order, and the counters that identify the last one are reset.
void same_bits(int rows) {
  std::mt19937 random(3);
  Pages pages(DType::BF16, 128, 2, 5000, random);
  std::vector<float> numbers(size_t{8} * 128 * 40);
  for (float& x : numbers) x = std::normal_distribution<float>()(random);
  const OnDevice<float> q(numbers), out(numbers);
  const View<const float> form = q.view();
  std::vector<KeySegment> segments[2];
  std::vector<AttendTask> tasks;
  for (size_t h = 0; h < 2; ++h) {
    KeySegment s;
    s.rows = pages.head(h);
    s.count = 5000;
    segments[h] = {s};
    tasks.push_back({static_cast<int>(h) * 4, 4, 0, rows, 4960, segments[h]});
  }
  AttendCall call;
  call.queries = {&form, 1};
  call.heads = 8;
  call.head_dim = 128;
  call.scale = 0.088f;
  call.out = out.view();
  Scratch scratch;
  std::vector<float> before;
  for (int i = 0; i < 10; ++i) {
    attend(nullptr, call, tasks, scratch);
    const std::vector<float> now = out.back();
    if (i > 0) {
      EXPECT_EQ(std::memcmp(now.data(), before.data(), now.size() * 4), 0);
    }
    before = now;
  }
}

TEST(Attend, TheSameCallGivesTheSameBits) {
  for (const int rows : {1, 3, 7, 40}) same_bits(rows);
}

}  // namespace
}  // namespace longhaul::cuda
