// Choices of experts, the rows that they move, and the whole mixture compared with the host's.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/core/device_ops.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/matmul/expert_mix.gpu.h"
#include "ops/matmul/experts.gpu.h"
#include "ops/matmul/experts.h"
#include "ops/matmul/matvec.gpu.h"
#include "queued.h"
#include "weights_on_device.h"

namespace longhaul::cuda {
namespace {

size_t size_of(int64_t count) { return static_cast<size_t>(count); }

std::vector<ExpertChoice> host_choices(const std::vector<float>& logits, int64_t rows, int experts,
                                       int used, bool among_chosen) {
  std::vector<ExpertChoice> chosen(size_of(rows * used));
  choose_experts(logits.data(), rows, experts, used, {.among_chosen = among_chosen}, chosen.data());
  return chosen;
}

/// Some logits are equal.
std::vector<float> logits_of(int64_t rows, int experts, uint32_t seed) {
  std::vector<float> logits = random_floats(size_of(rows * experts), seed, 2);
  for (size_t i = 0; i + 3 < logits.size(); i += 5) logits[i + 3] = logits[i];
  return logits;
}

TEST(CudaExperts, ChosenAsOnTheHost) {
  for (const auto& [rows, experts, used] :
       {std::array<int, 3>{1, 8, 2}, {3, 4, 4}, {37, 128, 8}, {9, 33, 5}, {2, 4096, 64}}) {
    const std::vector<float> bias = random_floats(size_of(experts), 21);
    const std::vector<float> scales = random_floats(size_of(experts), 22);
    const OnDevice<float> bias_there(bias), scales_there(scales);
    // Scores of softmax and sigmoid, with a bias, with groups, with factors of experts.
    for (int form = 0; form < 32; ++form) {
      ExpertRule rule{.among_chosen = form % 2 == 0, .sigmoid = form / 2 % 2 == 1, .scale = 1.5f};
      if (form / 4 % 2 == 1) rule.choice_bias = bias.data();
      if (form >= 24) rule.expert_scales = scales.data();
      if (form >= 8 && experts % 4 == 0) {
        rule.groups = 4;
        rule.groups_used = std::max(2, used / (experts / 4));
        rule.best_of_group = form >= 16;
      }
      const std::vector<float> logits = logits_of(rows, experts, 7);
      const OnDevice<float> there(logits);
      const OnDevice<ExpertChoice> chosen(size_of(rows * used));
      ExpertRule rule_there = rule;
      if (rule.choice_bias != nullptr) rule_there.choice_bias = bias_there.data();
      if (rule.expert_scales != nullptr) rule_there.expert_scales = scales_there.data();
      choose_experts(nullptr, there.data(), rows, experts, used, rule_there, chosen.data());
      std::vector<ExpertChoice> want(size_of(rows * used));
      choose_experts(logits.data(), rows, experts, used, rule, want.data());
      const auto got = chosen.get();
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(got[i].expert, want[i].expert) << rows << 'x' << experts << " choice " << i;
        ASSERT_NEAR(got[i].weight, want[i].weight, 2e-6f) << rows << 'x' << experts;
      }
    }
  }
}

TEST(CudaExperts, SortedByExpertAndMoved) {
  const int64_t n = 40;
  for (const auto& [rows, experts, used] :
       {std::array<int, 3>{300, 16, 3}, {9, 128, 8}, {1000, 5, 1}}) {
    const std::vector<ExpertChoice> chosen =
        host_choices(logits_of(rows, experts, 3), rows, experts, used, true);
    std::vector<int32_t> order(chosen.size()), begins(size_of(experts + 1));
    std::iota(order.begin(), order.end(), 0);
    const auto expert_of = [&](int32_t i) { return chosen[size_of(i)].expert; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return expert_of(a) < expert_of(b); });
    for (const ExpertChoice& c : chosen) ++begins[size_of(c.expert) + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    const OnDevice<ExpertChoice> there(chosen);
    std::vector<int32_t> places(order.size());
    for (size_t i = 0; i < order.size(); ++i) places[size_of(order[i])] = static_cast<int32_t>(i);
    const OnDevice<int32_t> order_there(order.size()), places_there(order.size());
    const OnDevice<int32_t> begins_there(begins.size());
    const auto count = static_cast<int64_t>(chosen.size());
    sort_choices(nullptr, there.data(), count, experts, order_there.data(), places_there.data(),
                 begins_there.data());
    ASSERT_EQ(order_there.get(), order);
    ASSERT_EQ(places_there.get(), places);
    ASSERT_EQ(begins_there.get(), begins);

    // Results in sorted order; the biases of their experts are added.
    std::vector<float> results = random_floats(order.size() * size_of(n), 5);
    const std::vector<float> bias = random_floats(size_of(experts * n), 7);
    std::vector<uint16_t> rounded;
    for (const float x : results) rounded.push_back(longhaul::f32_to_bf16(x));
    const OnDevice<uint16_t> results_there(rounded);
    const OnDevice<float> bias_there(bias);
    add_chosen_bias(nullptr, results_there.data(), count, n, order_there.data(), there.data(),
                    bias_there.data());
    std::vector<float> sums = random_floats(size_of(rows * n), 6);
    const OnDevice<float> y(sums);
    add_choices(nullptr, results_there.data(), places_there.data(), rows, used, n, there.data(),
                y.data(), true);
    for (size_t i = 0; i < order.size(); ++i) {
      const ExpertChoice& choice = chosen[size_of(order[i])];
      for (int64_t c = 0; c < n; ++c) {
        const float result = longhaul::bf16_to_f32(rounded[i * size_of(n) + size_of(c)]) +
                             bias[size_of(choice.expert * n + c)];
        sums[size_of(order[i] / used * n + c)] += choice.weight * result;
      }
    }
    expect_close(y.get(), sums, 2e-2, 2e-2);  // the sum with the bias is rounded to bf16
  }
}

/// The sums equal those with one expert's matrix alone, in the same order.
TEST(CudaExperts, ProductsWithAChosenMatrix) {
  const int experts = 5;
  const int64_t outputs = 70, rows = 3;
  for (const DType type : device_types()) {
    for (const int64_t cols : {256, 1536}) {
      const HostMatrix weight(type, experts * outputs, cols);
      const Matrix there = on_device(weight.view);
      const OnDevice<float> x(random_floats(size_of(rows * cols), 1));
      const OnDevice<float> bias(random_floats(size_of(experts * outputs), 2));
      const OnDevice<uint8_t> int8(int8_bytes(rows, cols));
      MatvecInput input{.x = x.data(), .rows = rows, .cols = cols};
      input.int8 = int8_rows_in(int8.data(), rows, cols);
      round_to_int8(nullptr, x.data(), rows, cols, cols, input.int8);
      const std::vector<ExpertChoice> chosen = {{3, 1}, {0, 1}, {4, 1}, {1, 1}, {3, 1}, {2, 1}};
      const OnDevice<ExpertChoice> choices(chosen);
      const OnDevice<float> y(chosen.size() * size_of(outputs)), alone(size_of(outputs));
      const MatvecJob job{.weight = there.view(), .y = y.data(), .bias = bias.data()};
      matvec_chosen(nullptr, input, {choices.data(), 6, 2, experts}, {&job, 1});
      const std::vector<float> got = y.get();
      const OnDevice<int32_t> order(std::vector<int32_t>{1, 3, 5, 0, 4, 2});
      matvec_chosen(nullptr, input, {choices.data(), 6, 2, experts, order.data()}, {&job, 1});
      ASSERT_EQ(y.get(), got) << "in another order, " << name_of(type);
      for (size_t i = 0; i < chosen.size(); ++i) {
        const int64_t row = static_cast<int64_t>(i) / 2, first = chosen[i].expert * outputs;
        MatvecInput one = input;
        one.rows = 1;
        one.x = x.data() + row * cols;
        one.int8.q += row * one.int8.groups;
        one.int8.factors += row * one.int8.groups;
        const MatvecJob only{.weight = there.view().slice_rows(first, outputs),
                             .y = alone.data(),
                             .bias = bias.data() + first};
        matvec(nullptr, one, {&only, 1});
        const auto begin = got.begin() + static_cast<int64_t>(i) * outputs;
        ASSERT_EQ(std::vector<float>(begin, begin + outputs), alone.get())
            << name_of(type) << ' ' << cols << " choice " << i;
      }
    }
  }
}

class CudaExpertMix : public OnQueue {
 protected:
  static constexpr int kExperts = 6, kUsed = 2;
  static constexpr int64_t kHidden = 256, kFfn = 512;

  struct Role {
    Role(DType type, int64_t rows, int64_t cols, uint32_t seed, bool with_bias)
        : weight(type, kExperts * rows, cols, seed) {
      if (with_bias) bias = random_floats(size_of(kExperts * rows), seed + 1, 0.1f);
    }
    HostMatrix weight;
    std::vector<float> bias;
  };

  static void give(const Role& all, TensorView ExpertWeights::*matrix,
                   std::vector<float> ExpertWeights::*bias, std::vector<ExpertWeights>& experts) {
    const int64_t rows = all.weight.view.rows() / kExperts;
    for (int64_t e = 0; e < kExperts; ++e) {
      ExpertWeights& expert = experts[size_of(e)];
      expert.*matrix = all.weight.view.slice_rows(e * rows, rows);
      if (all.bias.empty()) continue;
      const auto begin = all.bias.begin() + e * rows;
      (expert.*bias).assign(begin, begin + rows);
    }
  }

  /// Relative distance between the amounts that the device and the host add. With
  /// kSquaredReluGating, experts have no gate.
  double difference(DType type, int64_t rows, bool biases, const Gating& gating, bool add) {
    const Role gate(type, kFfn, kHidden, 1, biases), up(type, kFfn, kHidden, 3, biases),
        down(type, kHidden, kFfn, 5, biases);
    std::vector<ExpertWeights> experts(kExperts);
    const bool gated = gating != kSquaredReluGating;
    if (gated) give(gate, &ExpertWeights::gate, &ExpertWeights::gate_bias, experts);
    give(up, &ExpertWeights::up, &ExpertWeights::up_bias, experts);
    give(down, &ExpertWeights::down, &ExpertWeights::down_bias, experts);
    const std::vector<float> x = random_floats(size_of(rows * kHidden), 11, 0.3f);
    const std::vector<float> logits = logits_of(rows, kExperts, 12);
    std::vector<float> y = random_floats(size_of(rows * kHidden), 13);

    DeviceOps& ops = queue().device().ops();
    const auto input = ops.input();
    ops.take(there(x), rows, kHidden, *input);
    std::vector<std::shared_ptr<const DeviceMatrix>> held;
    const auto role = [&](const Role& of) {
      held.push_back(ops.matrix({&of.weight.view, 1}));
      return DeviceExperts::Role{held.back().get(), there(of.bias)};
    };
    DeviceExperts of{.count = kExperts, .used = kUsed, .gating = gating};
    if (gated) of.gate = role(gate);
    of.up = role(up);
    of.down = role(down);
    const View<float> result = there(y);
    const View<float> routes = there(logits);
    const int64_t waits = waits_in([&] { ops.mix_experts(*input, routes, of, result, add); });
    EXPECT_EQ(waits, ExpertMix::reads_stored(rows, of) ? 0 : 1);

    const std::vector<ExpertChoice> chosen = host_choices(logits, rows, kExperts, kUsed, true);
    ExpertActivation activation{.gating = gating};
    if (!gated) activation.ungated = Ungated::kSquaredRelu;
    longhaul::ExpertMix().run(x.data(), rows, experts, chosen, activation, Compute::kF32, y.data(),
                              add);
    const std::vector<float> got = here(result);
    double apart = 0, size = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      apart += std::pow(double{got[i]} - y[i], 2);
      size += std::pow(double{y[i]}, 2);
    }
    return std::sqrt(apart / size);
  }
};

TEST_F(CudaExpertMix, EqualsTheHost) {
  for (const DType type :
       {DType::F32, DType::BF16, DType::Q8_0, DType::Q4_K, DType::MXFP4, DType::IQ2_XXS}) {
    for (const int64_t rows : {1, 3, 8, 9, 17, 200, 5000}) {
      for (const bool biases : {false, true}) {
        const Gating gating = biases ? kClampedGating : Gating{};
        const double apart = difference(type, rows, biases, gating, rows % 2 == 1);
        EXPECT_LT(apart, 0.02) << name_of(type) << ' ' << rows << " rows, biases " << biases;
      }
    }
  }
}

TEST_F(CudaExpertMix, ExpertsWithoutAGateEqualTheHost) {
  for (const DType type : {DType::BF16, DType::Q4_K}) {
    for (const int64_t rows : {1, 9, 17, 200, 5000}) {
      for (const bool biases : {false, true}) {
        EXPECT_LT(difference(type, rows, biases, kSquaredReluGating, rows % 2 == 1), 0.03)
            << name_of(type) << ' ' << rows << " rows, biases " << biases;
      }
    }
  }
}

/// With 10,000 rows for each of 6 experts, every product has more tiles than the card has
/// processors. Products then run one after the other, each with up to 63 padding rows.
TEST_F(CudaExpertMix, ProductsThatFillTheCardFollowEachOther) {
  EXPECT_LT(difference(DType::Q4_K, 30'001, true, kClampedGating, true), 0.02);
}

}  // namespace
}  // namespace longhaul::cuda
