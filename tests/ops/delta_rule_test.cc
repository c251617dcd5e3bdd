// The gated delta rule compared with its definition, one row after another in double precision.

#include "ops/delta/delta_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ops/core/isa/isa.h"

namespace longhaul {
namespace {

using Numbers = std::vector<float>;

Numbers random_numbers(int64_t count, uint32_t seed, float scale = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, scale);
  Numbers values(static_cast<size_t>(count));
  for (float& v : values) v = normal(generator);
  return values;
}

struct Case {
  DeltaShape shape;
  int64_t rows;
};

/// All inputs of a layer.
struct Inputs {
  explicit Inputs(const Case& c)
      : x(random_numbers(c.rows * c.shape.channels(), 1)),
        taps(random_numbers(c.shape.kernel * c.shape.channels(), 2, 0.5f)),
        beta(random_numbers(c.rows * c.shape.value_heads, 3)),
        alpha(random_numbers(c.rows * c.shape.value_heads, 4)),
        dt_bias(random_numbers(c.shape.value_heads, 5)),
        rate(random_numbers(c.shape.value_heads, 6)),
        before(random_numbers(c.shape.state(), 7, 0.3f)) {
    for (float& r : rate) r = -std::exp(r);
  }
  Numbers x, taps, beta, alpha, dt_bias, rate, before;
};

double plain_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Convolution and rule by definition; `state` is that before and then after the rows.
std::vector<double> by_definition(const Case& c, const Inputs& in, std::vector<double>& state) {
  const DeltaShape& d = c.shape;
  const int64_t width = d.channels(), kept = d.kernel - 1;
  std::vector<double> all(state.begin(), state.begin() + d.history());
  all.insert(all.end(), in.x.begin(), in.x.end());
  std::vector<double> out(static_cast<size_t>(c.rows * d.values()));
  const auto at = [](auto& list, int64_t i) -> auto& { return list[static_cast<size_t>(i)]; };
  for (int64_t r = 0; r < c.rows; ++r) {
    std::vector<double> y(static_cast<size_t>(width));
    for (int64_t i = 0; i < width; ++i) {
      double sum = 0;
      for (int64_t j = 0; j <= kept; ++j)
        sum += at(in.taps, j * width + i) * at(all, (r + j) * width + i);
      at(y, i) = sum * plain_sigmoid(sum);
    }
    for (int h = 0; h < d.value_heads; ++h) {
      const double* q = y.data() + d.key_head(h) * d.key_dim;
      const double* k = q + d.keys();
      const double* v = y.data() + 2 * d.keys() + h * d.value_dim;
      double qq = 1e-6, kk = 1e-6;
      for (int i = 0; i < d.key_dim; ++i) qq += q[i] * q[i], kk += k[i] * k[i];
      const double a = at(in.alpha, r * d.value_heads + h) + at(in.dt_bias, h);
      const double decay = std::exp(at(in.rate, h) * std::log1p(std::exp(a)));
      const double beta = plain_sigmoid(at(in.beta, r * d.value_heads + h));
      double* s = state.data() + d.history() + int64_t{h} * d.key_dim * d.value_dim;
      for (int c0 = 0; c0 < d.value_dim; ++c0) {
        double held = 0, seen = 0;
        for (int i = 0; i < d.key_dim; ++i) {
          s[i * d.value_dim + c0] *= decay;
          held += s[i * d.value_dim + c0] * k[i] / std::sqrt(kk);
        }
        for (int i = 0; i < d.key_dim; ++i) {
          s[i * d.value_dim + c0] += k[i] / std::sqrt(kk) * beta * (v[c0] - held);
          seen += s[i * d.value_dim + c0] * q[i] / std::sqrt(qq * d.key_dim);
        }
        at(out, r * d.values() + h * d.value_dim + c0) = seen;
      }
    }
  }
  std::copy(all.end() - d.history(), all.end(), state.begin());
  return out;
}

/// Rows [begin, end) with the state in place.
void run(const Case& c, const Inputs& in, int64_t begin, int64_t end, Numbers& state,
         Numbers& out) {
  const DeltaShape& d = c.shape;
  Numbers convolved(static_cast<size_t>((end - begin) * d.channels()));
  short_convolution(d, in.x.data() + begin * d.channels(), in.taps.data(), end - begin,
                    state.data(), state.data(), convolved.data());
  const DeltaRows rows = {.rows = end - begin,
                          .qkv = convolved.data(),
                          .beta = in.beta.data() + begin * d.value_heads,
                          .alpha = in.alpha.data() + begin * d.value_heads,
                          .stride = d.value_heads,
                          .dt_bias = in.dt_bias.data(),
                          .rate = in.rate.data()};
  delta_rule(d, rows, state.data(), state.data(), out.data() + begin * d.values());
}

double furthest(const Numbers& got, const std::vector<double>& want) {
  double most = 0;
  for (size_t i = 0; i < want.size(); ++i) most = std::max(most, std::abs(got[i] - want[i]));
  return most;
}

class DeltaRule : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { set_isa(GetParam()); }
  void TearDown() override { set_isa(best_isa()); }
};

std::vector<Case> delta_cases() {
  std::vector<Case> cases;
  for (const int64_t rows : {1, 2, 5, 16, 63, 64, 65, 150}) {
    cases.push_back({{2, 4, 16, 32, 4, false}, rows});
    cases.push_back({{2, 4, 24, 16, 3, true}, rows});
  }
  cases.push_back({{1, 2, 128, 128, 4, false}, 200});
  return cases;
}

TEST_P(DeltaRule, EqualsItsDefinition) {
  for (const Case& c : delta_cases()) {
    const Inputs in(c);
    std::vector<double> want_state(in.before.begin(), in.before.end());
    const std::vector<double> want = by_definition(c, in, want_state);
    Numbers state = in.before, out(want.size());
    run(c, in, 0, c.rows, state, out);
    EXPECT_LT(furthest(out, want), 2e-5) << c.rows << " rows";
    EXPECT_LT(furthest(state, want_state), 2e-5) << c.rows << " rows";
  }
}

TEST_P(DeltaRule, ContinuesFromItsState) {
  const Case c = {{2, 4, 16, 32, 4, false}, 150};
  const Inputs in(c);
  std::vector<double> want_state(in.before.begin(), in.before.end());
  const std::vector<double> want = by_definition(c, in, want_state);
  Numbers state = in.before, out(want.size());
  int64_t begin = 0;
  for (const int64_t end : {1, 2, 4, 40, 41, 110, 150}) {
    run(c, in, begin, end, state, out);
    begin = end;
  }
  EXPECT_LT(furthest(out, want), 2e-5);
  EXPECT_LT(furthest(state, want_state), 2e-5);
}

TEST_P(DeltaRule, StrongDecayForgetsWithoutOverflow) {
  const Case c = {{1, 1, 16, 16, 2, false}, 130};
  Inputs in(c);
  in.rate = {-60};
  std::vector<double> want_state(in.before.begin(), in.before.end());
  const std::vector<double> want = by_definition(c, in, want_state);
  Numbers state = in.before, out(want.size());
  run(c, in, 0, c.rows, state, out);
  EXPECT_LT(furthest(out, want), 2e-5);
}

TEST_P(DeltaRule, NormsAndGatesEqualTheirDefinitions) {
  const int64_t rows = 3, heads = 2, size = 32;
  const Numbers x = random_numbers(rows * heads * size, 1), gate = random_numbers(rows * 100, 2, 3),
                weight = random_numbers(size, 3);
  Numbers y = x;
  gated_norm(y.data(), gate.data(), 100, weight.data(), 1e-5f, rows, heads, size);
  for (int64_t i = 0; i < rows * heads; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < size; ++j) sum += std::pow(x[static_cast<size_t>(i * size + j)], 2);
    for (int64_t j = 0; j < size; ++j) {
      const double g = gate[static_cast<size_t>(i / heads * 100 + i % heads * size + j)];
      const double want = x[static_cast<size_t>(i * size + j)] / std::sqrt(sum / size + 1e-5) *
                          weight[static_cast<size_t>(j)] * g * plain_sigmoid(g);
      EXPECT_NEAR(y[static_cast<size_t>(i * size + j)], want, 1e-5);
    }
  }
  Numbers z = x;
  multiply_by_sigmoid(z.data(), gate.data(), 150);
  EXPECT_NEAR(z[149], x[149] * plain_sigmoid(gate[149]), 1e-6);
  EXPECT_EQ(z[150], x[150]);
  Numbers sum = weight;
  add_gated(sum.data(), x.data(), gate.data(), 2, 16);
  EXPECT_NEAR(sum[20], weight[20] + x[20] * plain_sigmoid(gate[1]), 1e-6);
}

std::vector<Isa> known_isas() {
  std::vector<Isa> all;
  for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa)
    all.push_back(static_cast<Isa>(isa));
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, DeltaRule, testing::ValuesIn(known_isas()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace longhaul
