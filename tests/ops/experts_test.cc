#include "ops/matmul/experts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ops/isa_fixture.h"

namespace longhaul {
namespace {

constexpr int64_t kHidden = 64, kFfn = 96;
constexpr int kExperts = 11;

struct Mixture {
  explicit Mixture(bool biases) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 0.15f);
    for (int e = 0; e < kExperts; ++e) {
      ExpertWeights w;
      w.gate = matrix(kFfn, kHidden, random, normal);
      w.up = matrix(kFfn, kHidden, random, normal);
      w.down = matrix(kHidden, kFfn, random, normal);
      if (biases) {
        for (auto* bias : {&w.gate_bias, &w.up_bias, &w.down_bias}) {
          bias->resize(static_cast<size_t>(bias == &w.down_bias ? kHidden : kFfn));
          for (float& b : *bias) b = normal(random);
        }
      }
      experts.push_back(std::move(w));
    }
  }

  TensorView matrix(int64_t rows, int64_t cols, std::mt19937& random,
                    std::normal_distribution<float>& normal) {
    auto& values = storage.emplace_back(static_cast<size_t>(rows * cols));
    for (float& v : values) v = normal(random);
    TensorView view;
    view.data = reinterpret_cast<const std::byte*>(values.data());
    view.rank = 2;
    view.shape = {rows, cols, 1, 1};
    return view;
  }

  static double product(const TensorView& w, int64_t row, const double* x) {
    const float* weight = reinterpret_cast<const float*>(w.row(row));
    double sum = 0;
    for (int64_t i = 0; i < w.cols(); ++i) sum += static_cast<double>(weight[i]) * x[i];
    return sum;
  }

  /// One expert applied to one row in double precision.
  std::vector<double> apply(int expert, const double* x, const ExpertActivation& f) const {
    const Gating& g = f.gating;
    const ExpertWeights& w = experts[static_cast<size_t>(expert)];
    std::vector<double> inner(kFfn), y(kHidden);
    for (size_t i = 0; i < kFfn; ++i) {
      const auto at = [&](const std::vector<float>& b) { return b.empty() ? 0.0 : double{b[i]}; };
      double gate = product(w.gate, static_cast<int64_t>(i), x) + at(w.gate_bias);
      double up = product(w.up, static_cast<int64_t>(i), x) + at(w.up_bias);
      if (f.ungated != Ungated::kNone) {
        inner[i] = std::pow(std::max(up, 0.0), 2);
        continue;
      }
      if (g.limit > 0) gate = std::min<double>(gate, g.limit);
      if (g.limit > 0) up = std::clamp<double>(up, -g.limit, g.limit);
      const double s = g.slope * (gate + g.cubic * gate * gate * gate);
      inner[i] = gate / (1 + std::exp(-s)) * (up + g.shift);
    }
    for (size_t i = 0; i < kHidden; ++i) {
      y[i] = product(w.down, static_cast<int64_t>(i), inner.data()) +
             (w.down_bias.empty() ? 0.0 : double{w.down_bias[i]});
    }
    return y;
  }

  std::vector<std::vector<float>> storage;
  std::vector<ExpertWeights> experts;
};

void check_experts(int64_t rows, int used, bool biases, const ExpertActivation& activation,
                   Compute compute) {
  SCOPED_TRACE(testing::Message() << rows << " rows, " << used << " experts, biases " << biases);
  const Mixture mixture(biases);
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  const bool add = biases;
  std::vector<float> x(static_cast<size_t>(rows * kHidden)), y(x.size(), add ? 0.5f : NAN);
  std::vector<float> logits(static_cast<size_t>(rows * kExperts));
  for (float& v : x) v = normal(random);
  for (float& v : logits) v = normal(random);
  std::vector<ExpertChoice> chosen(static_cast<size_t>(rows * used));
  choose_experts(logits.data(), rows, kExperts, used, {.among_chosen = true}, chosen.data());
  ExpertMix mix;
  mix.run(x.data(), rows, mixture.experts, chosen, activation, compute, y.data(), add);
  const double tolerance = compute == Compute::kF32 || rows <= kMatvecMaxRows ? 1e-4 : 4e-2;
  for (int64_t r = 0; r < rows; ++r) {
    const std::vector<double> row(x.begin() + r * kHidden, x.begin() + (r + 1) * kHidden);
    std::vector<double> want(kHidden, add ? 0.5 : 0.0);
    for (int i = 0; i < used; ++i) {
      const ExpertChoice& c = chosen[static_cast<size_t>(r * used + i)];
      const auto part = mixture.apply(c.expert, row.data(), activation);
      for (size_t t = 0; t < want.size(); ++t) want[t] += static_cast<double>(c.weight) * part[t];
    }
    for (size_t t = 0; t < want.size(); ++t) {
      ASSERT_NEAR(y[static_cast<size_t>(r) * kHidden + t], want[t], tolerance) << "row " << r;
    }
  }
}

TEST(Experts, EqualTheDefinition) {
  at_every_isa([] {
    for (const auto compute : {Compute::kF32, Compute::kBest}) {
      check_experts(1, 3, false, {}, compute);
      check_experts(1, 10, true, {kClampedGating}, compute);  // more than one stretch of rows
      check_experts(5, 2, false, {kGeluGating}, compute);
      check_experts(70, 4, true, {kClampedGating}, compute);
      check_experts(40, 1, false, {}, compute);
      for (const int64_t rows : {1, 5, 70}) {
        check_experts(rows, 4, true, {.ungated = Ungated::kSquaredRelu}, compute);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

/// Rows that chose the same expert share its products.
TEST(Experts, ADecodeRowIsTheSameAloneAndAmongOthers) {
  at_every_isa([] {
    const int64_t most = 40;
    const int used = 3;
    const Mixture mixture(true);
    std::mt19937 random(10);
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<size_t>(most * kHidden));
    std::vector<float> logits(static_cast<size_t>(most * kExperts));
    for (float& v : x) v = normal(random);
    for (float& v : logits) v = normal(random);
    std::vector<ExpertChoice> chosen(static_cast<size_t>(most * used));
    choose_experts(logits.data(), most, kExperts, used, {.among_chosen = true}, chosen.data());
    for (const auto compute : {Compute::kF32, Compute::kBest}) {
      const auto run = [&](int64_t first, int64_t rows, float* y) {
        ExpertMix mix;
        mix.run(x.data() + first * kHidden, rows, mixture.experts,
                std::span(chosen).subspan(static_cast<size_t>(first * used),
                                          static_cast<size_t>(rows * used)),
                {kClampedGating}, compute, y, true, RowKind::kDecode);
      };
      std::vector<float> alone(x.size(), 0.5f);
      for (int64_t r = 0; r < most; ++r) run(r, 1, alone.data() + r * kHidden);
      for (const int64_t rows : {2, 8, 9, 40}) {
        std::vector<float> y(static_cast<size_t>(rows * kHidden), 0.5f);
        run(0, rows, y.data());
        EXPECT_EQ(std::memcmp(y.data(), alone.data(), y.size() * sizeof(float)), 0)
            << rows << " rows, " << name_of(compute);
      }
    }
  });
}

TEST(ChooseExperts, TheLargestWithTheirShares) {
  const std::vector<float> logits = {1, 3, 2, 3, -1, 0, 0, 0, 0, 0};
  std::vector<ExpertChoice> chosen(6);
  choose_experts(logits.data(), 2, 5, 3, {.among_chosen = true}, chosen.data());
  const int32_t experts[] = {1, 2, 3, 0, 1, 2};  // the first of equal logits wins; sorted by number
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(chosen[i].expert, experts[i]) << i;
  const double sum = 2 + std::exp(-1.0);
  EXPECT_NEAR(chosen[0].weight, 1 / sum, 1e-6);
  EXPECT_NEAR(chosen[1].weight, std::exp(-1.0) / sum, 1e-6);
  EXPECT_NEAR(chosen[4].weight, 1.0 / 3, 1e-6);
  choose_experts(logits.data(), 1, 5, 3, {.among_chosen = false}, chosen.data());
  const double all = 2 + std::exp(-1.0) + std::exp(-2.0) + std::exp(-4.0);
  EXPECT_NEAR(chosen[0].weight, 1 / all, 1e-6);
}

/// As DeepSeek-V3, GLM-4.5 and MiniMax-M2 do it: the bias moves the choice and not the weights.
TEST(ChooseExperts, BySigmoidsWithABiasForTheChoice) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::vector<float> logits = {1, 3, 2, -4, 0};
  const std::vector<float> bias = {0, -1, 0, 1, 0};
  std::vector<ExpertChoice> chosen(2);
  ExpertRule rule{.sigmoid = true, .choice_bias = bias.data(), .scale = 2.5f};
  choose_experts(logits.data(), 1, 5, 2, rule, chosen.data());
  EXPECT_EQ(chosen[0].expert, 2);
  EXPECT_EQ(chosen[1].expert, 3);
  const double sum = sigmoid(2) + sigmoid(-4);
  EXPECT_NEAR(chosen[0].weight, 2.5 * sigmoid(2) / sum, 1e-6);
  EXPECT_NEAR(chosen[1].weight, 2.5 * sigmoid(-4) / sum, 1e-6);
  rule.among_chosen = false;
  rule.choice_bias = nullptr;
  choose_experts(logits.data(), 1, 5, 2, rule, chosen.data());
  EXPECT_EQ(chosen[0].expert, 1);
  EXPECT_EQ(chosen[1].expert, 2);
  EXPECT_NEAR(chosen[1].weight, 2.5 * sigmoid(2), 1e-6);
}

TEST(ChooseExperts, NumbersThatAreNoneChooseSomething) {
  const std::vector<float> logits = {NAN, 1, NAN, 2};
  std::vector<ExpertChoice> chosen(2);
  choose_experts(logits.data(), 1, 4, 2, {.among_chosen = true}, chosen.data());
  for (const ExpertChoice& c : chosen) EXPECT_TRUE(c.expert >= 0 && c.expert < 4);
}

}  // namespace
}  // namespace longhaul
