// The GPU's gradients, run by a loop in place of threads.

#include "ops/grad/gradient_phases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "ops/attention/gate_mix.h"
#include "ops/grad/attention_backward.h"
#include "ops/grad/rms_norm_backward.h"
#include "ops/grad/swiglu_backward.h"
#include "ops/random_floats.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::random_floats;
using testing_support::view_of;

TEST(GradientPhases, OfRowsThatAreNormalised) {
  const auto shared = std::make_unique<cuda::SumShared<2>>();
  for (const int64_t n : {1, 63, 1024, 2500}) {
    const int64_t rows = 3;
    const auto x = random_floats(rows * n, 1), dy = random_floats(rows * n, 2),
               weight = random_floats(n, 3);
    for (const bool add : {false, true}) {
      std::vector<float> expected = dy, found = dy;  // in place, or added to dy itself
      rms_norm_backward(host_queue(), view_of(x), view_of(weight), 1e-5f, view_of(dy), rows, n,
                        view_of(expected), add);
      for (int64_t row = 0; row < rows; ++row) {
        cuda::rms_gradient_row(cuda::HostBlock{}, *shared,
                               {x.data(), weight.data(), found.data(), 1e-5f, n, found.data(), add},
                               row);
      }
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected[i], 1e-5 * (1 + std::abs(expected[i]))) << n << " " << i;
      }
    }
  }
}

TEST(GradientPhases, OfTheActivation) {
  std::vector<float> gate = random_floats(500, 1), up = random_floats(500, 2);
  const auto dy = random_floats(500, 3);
  for (const float far : {-200.0f, -90.0f, 90.0f, 200.0f}) {
    gate[static_cast<size_t>(far + 200)] = far;
  }
  std::vector<float> d_gate(500), d_up(500);
  swiglu_backward(host_queue(), view_of(gate), view_of(up), view_of(dy), view_of(d_gate),
                  view_of(d_up));
  for (size_t i = 0; i < 500; ++i) {
    const cuda::SwigluGradient found = cuda::swiglu_gradient(gate[i], up[i], dy[i]);
    ASSERT_NEAR(found.gate, d_gate[i], 1e-5 * (1 + std::abs(d_gate[i]))) << gate[i];
    ASSERT_NEAR(found.up, d_up[i], 1e-5 * (1 + std::abs(d_up[i]))) << gate[i];
  }
}

TEST(GradientPhases, OfGates) {
  const GatedRows shape{53, 6, 3, 20};
  const auto d = random_floats(shape.size(), 1), full = random_floats(shape.size(), 2),
             near = random_floats(shape.size(), 3);
  std::vector<float> expected(3), found(3);
  add_gate_gradient(host_queue(), shape, view_of(d), view_of(full), view_of(near),
                    view_of(expected));
  cuda::SumShared<1> shared;
  const int64_t width = shape.group() * shape.head_dim;
  for (size_t head = 0; head < 3; ++head) {
    const int64_t at = static_cast<int64_t>(head) * width;
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 17}, {17, 17}, {17, 53}}) {
      found[head] +=
          cuda::gate_gradient(cuda::HostBlock{}, shared, d.data() + at, full.data() + at,
                              near.data() + at, begin, end, width, width * shape.kv_heads);
    }
    EXPECT_NEAR(found[head], expected[head], 1e-3);
  }
}

/// One head of a text, the products of all its pairs, and the host's results.
struct Text {
  static constexpr int64_t kTokens = 300, kDim = 8;
  static constexpr float kScale = 0.4f;

  explicit Text(int64_t sink, int64_t window)
      : shape{kTokens, 1, 1, kDim, kScale, sink, window}, lse(kTokens), means(kTokens) {
    for (int64_t row = 0; row < kTokens; ++row) {
      std::vector<double> weights;
      double sum = 0;
      for (int64_t key = 0; key < kTokens; ++key) {
        const bool seen = cuda::sees(row, key, sink, window);
        weights.push_back(seen ? std::exp(double{kScale} * double{dot(q, row, k, key)}) : 0.0);
        sum += weights.back();
      }
      for (int64_t i = 0; i < kDim; ++i) {
        double value = 0;
        for (int64_t key = 0; key < kTokens; ++key) {
          value += weights[at(key)] / sum * double{v[at(key * kDim + i)]};
        }
        out[at(row * kDim + i)] = static_cast<float>(value);
      }
      lse[at(row)] = static_cast<float>(std::log(sum));
      means[at(row)] = dot(d_out, row, out, row);
    }
  }
  static size_t at(int64_t i) { return static_cast<size_t>(i); }
  static float dot(const std::vector<float>& a, int64_t row, const std::vector<float>& b,
                   int64_t key) {
    float sum = 0;
    for (int64_t i = 0; i < kDim; ++i) sum += a[at(row * kDim + i)] * b[at(key * kDim + i)];
    return sum;
  }
  AttentionTrace trace() const {
    return {view_of(q), view_of(k), view_of(v), view_of(out), view_of(lse), view_of(d_out)};
  }

  TextAttention shape;
  std::vector<float> q = random_floats(kTokens * kDim, 1), k = random_floats(kTokens * kDim, 2),
                     v = random_floats(kTokens * kDim, 3), d_out = random_floats(kTokens * kDim, 4),
                     out = v;
  std::vector<float> lse, means;
};

TEST(GradientPhases, OfPairsOfRowsAndKeys) {
  for (const auto& [sink, window] : {std::pair<int64_t, int64_t>{0, 300}, {5, 40}, {0, 1}}) {
    const Text text(sink, window);
    std::vector<float> dq(text.q.size()), dk(dq.size()), dv(dq.size()), q = dq, k = dq, v = dq;
    attention_backward(host_queue(), text.shape, text.trace(), view_of(dq), view_of(dk),
                       view_of(dv));
    for (int64_t row = 0; row < Text::kTokens; ++row) {
      for (int64_t key = 0; key < Text::kTokens; ++key) {
        if (!cuda::sees(row, key, sink, window)) continue;
        const cuda::PairGradient pair = cuda::pair_gradient(
            Text::dot(text.q, row, text.k, key), Text::dot(text.d_out, row, text.v, key),
            Text::kScale, text.lse[Text::at(row)], text.means[Text::at(row)]);
        for (int64_t i = 0; i < Text::kDim; ++i) {
          const size_t of_row = Text::at(row * Text::kDim + i);
          const size_t of_key = Text::at(key * Text::kDim + i);
          q[of_row] += pair.d_score * text.k[of_key];
          k[of_key] += pair.d_score * text.q[of_row];
          v[of_key] += pair.weight * text.d_out[of_row];
        }
      }
    }
    for (size_t i = 0; i < q.size(); ++i) {
      ASSERT_NEAR(q[i], dq[i], 1e-4) << i;
      ASSERT_NEAR(k[i], dk[i], 1e-4) << i;
      ASSERT_NEAR(v[i], dv[i], 1e-4) << i;
    }
  }
}

TEST(GradientPhases, OfRegions) {
  const Text text(0, Text::kTokens);
  const ProbedRegions regions{6, 30, 50};
  const RegionSums expected = attention_regions(host_queue(), text.shape, text.trace(), regions);
  cuda::SumShared<6> shared;
  double found[6] = {};
  for (int64_t row = 0; row < Text::kTokens; ++row) {
    std::vector<float> scores, d_weights;
    for (int64_t key = 0; key <= row; ++key) {
      scores.push_back(Text::dot(text.q, row, text.k, key));
      d_weights.push_back(Text::dot(text.d_out, row, text.v, key));
    }
    cuda::region_row(cuda::HostBlock{}, shared,
                     {scores.data(), d_weights.data(), Text::kScale, text.lse[Text::at(row)], row,
                      Text::kTokens, regions.sink, regions.window, regions.last});
    for (size_t n = 0; n < 6; ++n) found[n] += shared.all[n];
  }
  const PairSums all[] = {expected.streaming, expected.last, expected.middle};
  for (size_t n = 0; n < 3; ++n) {
    EXPECT_NEAR(found[2 * n], all[n].sum, 1e-4 * all[n].magnitude);
    EXPECT_NEAR(found[2 * n + 1], all[n].magnitude, 1e-4 * all[n].magnitude);
  }
}

}  // namespace
}  // namespace longhaul
