// The gradient of attention over a text, and the sums over its regions, compared with plain loops
// in double precision.

#include "ops/grad/attention_backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "isa_fixture.h"
#include "ops/core/fill.h"
#include "ops/fake_device.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using Numbers = std::vector<double>;
using testing_support::view_of;

bool sees(const TextAttention& shape, int64_t row, int64_t key) {
  return key <= row && (key < shape.sink || row - key < shape.window);
}

/// Random rows of a text, and plain loops over them.
struct Example {
  explicit Example(const TextAttention& s) : shape(s) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 1);
    const auto fill = [&](std::vector<float>& x, int64_t width) {
      x.resize(static_cast<size_t>(s.tokens * width));
      for (float& value : x) value = normal(random);
    };
    fill(q, s.query_width());
    fill(k, s.key_width());
    fill(v, s.key_width());
    fill(d_out, s.query_width());
    out.resize(q.size());
    lse.resize(static_cast<size_t>(s.tokens * s.heads));
    for (int64_t row = 0; row < s.tokens; ++row) {
      for (int head = 0; head < s.heads; ++head) weigh(row, head);
    }
  }

  size_t query_at(int64_t row, int head) const {
    return static_cast<size_t>((row * shape.heads + head) * shape.head_dim);
  }
  size_t key_at(int64_t key, int head) const {
    const int kv_head = head / (shape.heads / shape.kv_heads);
    return static_cast<size_t>((key * shape.kv_heads + kv_head) * shape.head_dim);
  }
  double dot(const std::vector<float>& a, size_t at, const std::vector<float>& b, size_t to) const {
    double sum = 0;
    for (int i = 0; i < shape.head_dim; ++i) {
      sum += static_cast<double>(a[at + static_cast<size_t>(i)]) *
             static_cast<double>(b[to + static_cast<size_t>(i)]);
    }
    return sum;
  }

  /// Returns the softmax weights of a row. Stores its lse and output.
  Numbers weigh(int64_t row, int head) {
    Numbers p(static_cast<size_t>(row + 1));
    double sum = 0;
    for (int64_t key = 0; key <= row; ++key) {
      if (!sees(shape, row, key)) continue;
      const double score = dot(q, query_at(row, head), k, key_at(key, head));
      p[static_cast<size_t>(key)] = std::exp(static_cast<double>(shape.scale) * score);
      sum += p[static_cast<size_t>(key)];
    }
    Numbers o(static_cast<size_t>(shape.head_dim));
    for (int64_t key = 0; key <= row; ++key) {
      p[static_cast<size_t>(key)] /= sum;
      for (size_t i = 0; i < o.size(); ++i) {
        o[i] += p[static_cast<size_t>(key)] * static_cast<double>(v[key_at(key, head) + i]);
      }
    }
    lse[static_cast<size_t>(row * shape.heads + head)] = static_cast<float>(std::log(sum));
    for (size_t i = 0; i < o.size(); ++i) out[query_at(row, head) + i] = static_cast<float>(o[i]);
    return p;
  }

  void gradients(Numbers& dq, Numbers& dk, Numbers& dv) {
    dq.assign(q.size(), 0);
    dk.assign(k.size(), 0);
    dv.assign(v.size(), 0);
    for (int64_t row = 0; row < shape.tokens; ++row) {
      for (int head = 0; head < shape.heads; ++head) {
        const Numbers p = weigh(row, head);
        const size_t at = query_at(row, head);
        const double mean = dot(d_out, at, out, at);
        for (int64_t key = 0; key <= row; ++key) {
          const size_t to = key_at(key, head);
          const double weight = p[static_cast<size_t>(key)];
          const double ds =
              static_cast<double>(shape.scale) * weight * (dot(d_out, at, v, to) - mean);
          for (size_t i = 0; i < static_cast<size_t>(shape.head_dim); ++i) {
            dq[at + i] += ds * static_cast<double>(k[to + i]);
            dk[to + i] += ds * static_cast<double>(q[at + i]);
            dv[to + i] += weight * static_cast<double>(d_out[at + i]);
          }
        }
      }
    }
  }

  AttentionTrace trace() const {
    return {view_of(q), view_of(k), view_of(v), view_of(out), view_of(lse), view_of(d_out)};
  }

  TextAttention shape;
  std::vector<float> q, k, v, d_out, out, lse;
};

TextAttention shape_of(int64_t tokens, int heads, int kv_heads, int head_dim, int64_t sink,
                       int64_t window) {
  return {tokens, heads, kv_heads, head_dim, 1 / std::sqrt(static_cast<float>(head_dim)),
          sink,   window};
}

void expect_near(const std::vector<float>& found, const Numbers& expected, const char* what) {
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 2e-5 * largest) << what << " " << i;
  }
}

TEST(AttentionBackward, EqualsTheDoubleLoopForEveryRuleOfSight) {
  for (const TextAttention& shape :
       {shape_of(1, 1, 1, 4, 0, 1), shape_of(130, 4, 2, 16, 0, 130), shape_of(300, 2, 1, 24, 5, 40),
        shape_of(700, 2, 2, 8, 100, 64), shape_of(300, 3, 1, 16, 0, 17),
        shape_of(140, 2, 2, 8, 600, 3)}) {
    Example example(shape);
    Numbers dq, dk, dv;
    example.gradients(dq, dk, dv);
    at_every_isa([&] {
      std::vector<float> q(dq.size()), k(dk.size()), v(dv.size());
      attention_backward(host_queue(), shape, example.trace(), view_of(q), view_of(k), view_of(v));
      expect_near(q, dq, "dq");
      expect_near(k, dk, "dk");
      expect_near(v, dv, "dv");
    });
  }
}

TEST(AttentionBackward, RowsWithoutGradientChangeNothingAndSumsAreAdded) {
  const TextAttention shape = shape_of(400, 2, 1, 16, 4, 50);
  Example example(shape);
  std::fill_n(example.d_out.begin(), 300 * shape.query_width(), 0.0f);
  Numbers dq, dk, dv;
  example.gradients(dq, dk, dv);
  std::vector<float> q(dq.size(), 1), k(dk.size(), 2), v(dv.size(), 3);
  attention_backward(host_queue(), shape, example.trace(), view_of(q), view_of(k), view_of(v));
  for (double& x : dq) x += 1;
  for (double& x : dk) x += 2;
  for (double& x : dv) x += 3;
  expect_near(q, dq, "dq");
  expect_near(k, dk, "dk");
  expect_near(v, dv, "dv");
}

TEST(AttentionBackward, ADeviceWithoutItHasTheHostsGradients) {
  Queue device = testing_support::fake_queue();
  const TextAttention shape = shape_of(150, 4, 2, 16, 3, 40);
  const Example example(shape);
  std::vector<float> dq(example.q.size(), 1), dk(example.k.size(), 2), dv = dk;
  const auto there = [&](const std::vector<float>& numbers, Array<float>& memory) {
    const View<float> view = memory.resize(device, std::ssize(numbers));
    copy(device, view_of(numbers), view);
    return view;
  };
  Array<float> q, k, v, out, lse, d_out, to_q, to_k, to_v;
  const AttentionTrace trace{there(example.q, q),     there(example.k, k),
                             there(example.v, v),     there(example.out, out),
                             there(example.lse, lse), there(example.d_out, d_out)};
  attention_backward(device, shape, trace, there(dq, to_q), there(dk, to_k), there(dv, to_v));
  attention_backward(host_queue(), shape, example.trace(), view_of(dq), view_of(dk), view_of(dv));
  const auto expect_equal = [&](const Array<float>& found, const std::vector<float>& expected) {
    std::vector<float> here(expected.size());
    copy(device, found.view(), view_of(here));
    EXPECT_EQ(here, expected);
  };
  expect_equal(to_q, dq);
  expect_equal(to_k, dk);
  expect_equal(to_v, dv);
}

TEST(AttentionRegions, SumWhatEachPairContributes) {
  const TextAttention shape = shape_of(390, 4, 2, 16, 0, 390);
  const ProbedRegions regions{6, 30, 50};
  Example example(shape);
  PairSums streaming, last, middle;
  for (int64_t row = 0; row < shape.tokens; ++row) {
    for (int head = 0; head < shape.heads; ++head) {
      const Numbers p = example.weigh(row, head);
      for (int64_t key = 0; key <= row; ++key) {
        const bool near = key <= regions.sink || row - key <= regions.window;
        PairSums& sums = near ? streaming : row >= shape.tokens - regions.last ? last : middle;
        const double product =
            p[static_cast<size_t>(key)] * example.dot(example.d_out, example.query_at(row, head),
                                                      example.v, example.key_at(key, head));
        sums.sum += product;
        sums.magnitude += std::abs(product);
      }
    }
  }
  at_every_isa([&] {
    const RegionSums found = attention_regions(host_queue(), shape, example.trace(), regions);
    EXPECT_NEAR(found.streaming.sum, streaming.sum, 1e-5 * streaming.magnitude);
    EXPECT_NEAR(found.last.sum, last.sum, 1e-5 * last.magnitude);
    EXPECT_NEAR(found.middle.sum, middle.sum, 1e-5 * middle.magnitude);
    EXPECT_NEAR(found.streaming.magnitude, streaming.magnitude, 1e-5 * streaming.magnitude);
    EXPECT_NEAR(found.last.magnitude, last.magnitude, 1e-5 * last.magnitude);
    EXPECT_NEAR(found.middle.magnitude, middle.magnitude, 1e-5 * middle.magnitude);
  });
}

}  // namespace
}  // namespace longhaul
