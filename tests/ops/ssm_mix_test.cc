// Mamba-2 layers and gated short convolutions compared with their definitions, one row after
// another in double precision.

#include "ops/ssm/ssm_mix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/parallel.h"
#include "ops/core/isa/isa.h"
#include "ops/ssm/short_convolution.h"

namespace longhaul {
namespace {

using SsmNumbers = std::vector<float>;

SsmNumbers ssm_random(int64_t count, uint32_t seed, float scale = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, scale);
  SsmNumbers values(static_cast<size_t>(count));
  for (float& v : values) v = normal(generator);
  return values;
}

double plain_silu(double x) { return x / (1 + std::exp(-x)); }

struct SsmCase {
  SsmShape shape;
  int64_t rows;
};

/// Weights and rows of a layer, with a state before the rows.
struct SsmLayer {
  explicit SsmLayer(const SsmCase& c)
      : shape(c.shape),
        rows(c.rows),
        projected(ssm_random(c.rows * c.shape.projected(), 1)),
        taps(ssm_random(c.shape.kernel * c.shape.channels(), 2, 0.5f)),
        bias(ssm_random(c.shape.channels(), 3, 0.3f)),
        dt_bias(ssm_random(c.shape.heads, 4)),
        rate(ssm_random(c.shape.heads, 5)),
        skip(ssm_random(c.shape.heads, 6)),
        norm(ssm_random(c.shape.inner(), 7)),
        before(ssm_random(c.shape.numbers(), 8, 0.3f)) {
    for (float& r : rate) r = -std::exp(r);
  }

  SsmInputs inputs() const {
    const View<const float> all = std::span(projected);
    return {.projected = all,
            .stride = shape.projected(),
            .steps = all.from(shape.inner() + shape.channels()),
            .step_stride = shape.projected(),
            .convolution = std::span(taps),
            .convolution_bias = shape.convolution_bias ? std::span(bias) : std::span<const float>(),
            .dt_bias = std::span(dt_bias),
            .rate = std::span(rate),
            .skip = std::span(skip),
            .norm = std::span(norm),
            .eps = kEps};
  }
  /// Rows [begin, end) with the state in place.
  void run(int64_t begin, int64_t end, SsmNumbers& state, SsmNumbers& out) const {
    Buffer<float> convolved;
    const RecurrentTask task = {begin, end - begin,
                                View<const float>(state.data(), std::ssize(state)),
                                View<float>(state.data(), std::ssize(state))};
    ssm_mix(host_queue(), shape, inputs(), {&task, 1}, std::span(out), convolved);
  }

  std::vector<double> convolved_row(const std::vector<double>& all, int64_t row) const {
    const int64_t width = shape.channels();
    std::vector<double> y(static_cast<size_t>(width));
    for (int64_t i = 0; i < width; ++i) {
      double sum = shape.convolution_bias ? double{bias[static_cast<size_t>(i)]} : 0;
      for (int64_t j = 0; j < shape.kernel; ++j) {
        sum += double{taps[static_cast<size_t>(j * width + i)]} *
               all[static_cast<size_t>((row + j) * width + i)];
      }
      y[static_cast<size_t>(i)] = plain_silu(sum);
    }
    return y;
  }

  /// Gates and normalises a row.
  void finish(const float* z, double* y) const {
    const int64_t inner = shape.inner(), size = inner / shape.groups;
    const auto gate = [&] {
      for (int64_t i = 0; i < inner; ++i) y[i] *= plain_silu(double{shape.gate_scale} * z[i]);
    };
    const auto normalise = [&] {
      for (int64_t first = 0; first < inner; first += size) {
        double sum = 0;
        for (int64_t i = first; i < first + size; ++i) sum += y[i] * y[i];
        for (int64_t i = first; i < first + size; ++i) {
          y[i] *= norm[static_cast<size_t>(i)] / std::sqrt(sum / static_cast<double>(size) + kEps);
        }
      }
    };
    if (shape.norm == SsmNorm::kBeforeGate) normalise();
    gate();
    if (shape.norm == SsmNorm::kAfterGate) normalise();
  }

  /// All rows by definition. `state` is that before and then after the rows.
  std::vector<double> by_definition(std::vector<double>& state) const {
    const SsmShape& s = shape;
    const int64_t width = s.channels(), inner = s.inner(), in = s.projected();
    std::vector<double> all(state.begin(), state.begin() + s.history());
    for (int64_t r = 0; r < rows; ++r) {
      const auto row = projected.begin() + r * in + inner;
      all.insert(all.end(), row, row + width);
    }
    std::vector<double> out(static_cast<size_t>(rows * inner));
    for (int64_t r = 0; r < rows; ++r) {
      const std::vector<double> xbc = convolved_row(all, r);
      for (int h = 0; h < s.heads; ++h) {
        const double* const b = xbc.data() + inner + h / (s.heads / s.groups) * s.state;
        const double* const c = b + s.groups * s.state;
        const float step = projected[static_cast<size_t>(r * in + inner + width + h)];
        const double raw = double{s.step_scale} * step + dt_bias[static_cast<size_t>(h)];
        const double dt = std::log1p(std::exp(raw));
        const double decay = std::exp(rate[static_cast<size_t>(h)] * dt);
        double* const matrix = state.data() + s.history() + int64_t{h} * s.state * s.head_dim;
        for (int p = 0; p < s.head_dim; ++p) {
          const double x = xbc[static_cast<size_t>(h * s.head_dim + p)];
          double sum = skip[static_cast<size_t>(h)] * x;
          for (int n = 0; n < s.state; ++n) {
            double& number = matrix[n * s.head_dim + p];
            number = decay * number + dt * b[n] * x;
            sum += number * c[n];
          }
          out[static_cast<size_t>(r * inner + h * s.head_dim + p)] = sum;
        }
      }
      finish(projected.data() + r * in, out.data() + r * inner);
    }
    std::copy(all.end() - s.history(), all.end(), state.begin());
    return out;
  }

  static constexpr float kEps = 1e-5f;
  SsmShape shape;
  int64_t rows;
  SsmNumbers projected, taps, bias, dt_bias, rate, skip, norm, before;
};

double ssm_furthest(const SsmNumbers& got, const std::vector<double>& want) {
  double most = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::abs(got[i] - want[i]) / std::max(1.0, std::abs(want[i])));
  }
  return most;
}

class SsmMix : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { set_isa(GetParam()); }
  void TearDown() override {
    set_isa(best_isa());
    set_thread_count(2);
  }
};

std::vector<SsmCase> ssm_cases() {
  std::vector<SsmCase> cases;
  for (const int64_t rows : {1, 2, 5, 16, 63, 64, 65, 150}) {
    cases.push_back({{.heads = 6,
                      .head_dim = 16,
                      .state = 24,
                      .groups = 2,
                      .kernel = 4,
                      .convolution_bias = true},
                     rows});
    cases.push_back({{.heads = 3,
                      .head_dim = 80,
                      .state = 16,
                      .groups = 1,
                      .kernel = 3,
                      .norm = SsmNorm::kBeforeGate,
                      .gate_scale = 0.7f,
                      .step_scale = 1.3f},
                     rows});
  }
  // More heads of a group than one job computes.
  cases.push_back({{.heads = 20,
                    .head_dim = 32,
                    .state = 128,
                    .groups = 1,
                    .kernel = 4,
                    .norm = SsmNorm::kNone},
                   130});
  return cases;
}

TEST_P(SsmMix, EqualsItsDefinition) {
  for (const SsmCase& c : ssm_cases()) {
    const SsmLayer layer(c);
    std::vector<double> want_state(layer.before.begin(), layer.before.end());
    const std::vector<double> want = layer.by_definition(want_state);
    SsmNumbers state = layer.before, out(want.size());
    layer.run(0, c.rows, state, out);
    EXPECT_LT(ssm_furthest(out, want), 5e-5) << c.rows << " rows of " << c.shape.heads << " heads";
    EXPECT_LT(ssm_furthest(state, want_state), 5e-5) << c.rows << " rows";
  }
}

TEST_P(SsmMix, ContinuesFromItsState) {
  const SsmLayer layer({{.heads = 6, .head_dim = 16, .state = 24, .groups = 2, .kernel = 4}, 150});
  std::vector<double> want_state(layer.before.begin(), layer.before.end());
  const std::vector<double> want = layer.by_definition(want_state);
  SsmNumbers state = layer.before, out(want.size());
  int64_t begin = 0;
  for (const int64_t end : {1, 2, 4, 40, 41, 110, 150}) {
    layer.run(begin, end, state, out);
    begin = end;
  }
  EXPECT_LT(ssm_furthest(out, want), 5e-5);
  EXPECT_LT(ssm_furthest(state, want_state), 5e-5);
}

TEST_P(SsmMix, StrongDecayForgetsWithoutOverflow) {
  SsmLayer layer({{.heads = 2, .head_dim = 16, .state = 16, .groups = 1, .kernel = 2}, 130});
  layer.rate = {-60, -1e-6f};
  std::vector<double> want_state(layer.before.begin(), layer.before.end());
  const std::vector<double> want = layer.by_definition(want_state);
  SsmNumbers state = layer.before, out(want.size());
  layer.run(0, 130, state, out);
  EXPECT_LT(ssm_furthest(out, want), 5e-5);
}

/// A row alone has the same bits, whatever other rows and threads there are.
TEST_P(SsmMix, RowsDoNotDependOnThreadsOrOtherTasks) {
  const SsmLayer layer({{.heads = 20, .head_dim = 16, .state = 16, .groups = 2, .kernel = 4}, 100});
  SsmNumbers out[2];
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    SsmNumbers state = layer.before;
    out[threads - 1].resize(static_cast<size_t>(100 * layer.shape.inner()));
    layer.run(0, 100, state, out[threads - 1]);
  }
  EXPECT_EQ(out[0], out[1]);
  const auto inner = static_cast<size_t>(layer.shape.inner());
  SsmNumbers states[2] = {layer.before, layer.before}, together(out[0].size()),
             alone(out[0].size());
  std::vector<RecurrentTask> tasks;
  for (int i = 0; i < 2; ++i) {
    const auto size = std::ssize(states[i]);
    tasks.push_back(
        {i, 1, View<const float>(states[i].data(), size), View<float>(states[i].data(), size)});
  }
  Buffer<float> convolved;
  ssm_mix(host_queue(), layer.shape, layer.inputs(), tasks, std::span(together), convolved);
  SsmNumbers state = layer.before;
  layer.run(1, 2, state, alone);
  EXPECT_TRUE(std::equal(alone.begin() + static_cast<ptrdiff_t>(inner),
                         alone.begin() + static_cast<ptrdiff_t>(2 * inner),
                         together.begin() + static_cast<ptrdiff_t>(inner)));
}

TEST_P(SsmMix, GatedConvolutionsEqualTheirDefinition) {
  const GatedConvolutionShape shape = {24, 3};
  const int64_t rows = 20, n = shape.width;
  const SsmNumbers in = ssm_random(rows * 3 * n, 1), taps = ssm_random(3 * n, 2);
  SsmNumbers state = ssm_random(shape.state(), 3);
  std::vector<double> gated(state.begin(), state.end());
  const auto at = [&](int64_t r, int64_t part, int64_t c) {
    return double{in[static_cast<size_t>((3 * r + part) * n + c)]};
  };
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < n; ++c) gated.push_back(at(r, 0, c) * at(r, 2, c));
  }
  SsmNumbers out(static_cast<size_t>(rows * n)), scratch(2 * out.size());
  int64_t begin = 0;
  for (const int64_t end : {1, 2, 13, 20}) {
    gated_convolution(shape, in.data() + 3 * begin * n, taps.data(), end - begin, state.data(),
                      state.data(), out.data() + begin * n, scratch.data());
    begin = end;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < n; ++c) {
      double sum = 0;
      for (int64_t j = 0; j < 3; ++j) {
        sum += double{taps[static_cast<size_t>(j * n + c)]} *
               gated[static_cast<size_t>((r + j) * n + c)];
      }
      EXPECT_NEAR(out[static_cast<size_t>(r * n + c)], at(r, 1, c) * sum, 1e-5);
    }
  }
  for (int64_t i = 0; i < shape.state(); ++i) {
    EXPECT_FLOAT_EQ(state[static_cast<size_t>(i)],
                    static_cast<float>(gated[static_cast<size_t>(rows * n + i)]));
  }
}

std::vector<Isa> isas_of_ssm() {
  std::vector<Isa> all;
  for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa)
    all.push_back(static_cast<Isa>(isa));
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, SsmMix, testing::ValuesIn(isas_of_ssm()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace longhaul
