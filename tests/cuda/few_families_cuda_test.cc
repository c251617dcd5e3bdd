// Operations of few families on a GPU compared with those of the host: norms that subtract the
// mean, activations without a gate, columns of rows, factors of rows, and the keys and products of
// latent attention.

#include <array>
#include <cmath>
#include <random>

#include "base/float_types.h"
#include "ops/attention/latent_keys.h"
#include "ops/core/columns.h"
#include "ops/core/layer_norm.h"
#include "ops/core/ungated.h"
#include "ops/matmul/head_products.h"
#include "ops/matmul/weigh_rows.h"
#include "queued.h"

namespace longhaul::cuda {
namespace {

std::vector<float> normal_numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.2f, 1.5f);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& x : numbers) x = normal(random);
  return numbers;
}

View<float> of(std::vector<float>& numbers) { return std::span<float>(numbers); }
View<const float> of(const std::vector<float>& numbers) { return std::span<const float>(numbers); }

void expect_close(const std::vector<float>& got, const std::vector<float>& want, float error) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], error * std::max(1.0f, std::abs(want[i]))) << i;
  }
}

using FewFamilies = OnQueue;

TEST_F(FewFamilies, NormsSubtractTheMean) {
  for (const auto& [rows, n] : {std::pair<int64_t, int64_t>{1, 64}, {7, 4096}, {300, 1001}}) {
    const std::vector<float> x = normal_numbers(rows * n, 1), weight = normal_numbers(n, 2);
    std::vector<float> want(x.size());
    layer_norm(host_queue(), of(x), of(weight), 1e-5f, rows, n, of(want));
    const View<float> there_x = there(x), there_weight = there(weight),
                      y = empty_there<float>(rows * n);
    EXPECT_EQ(waits_in([&] { layer_norm(queue(), there_x, there_weight, 1e-5f, rows, n, y); }), 0);
    expect_close(here(y), want, 1e-5f);
  }
}

TEST_F(FewFamilies, ActivationsWithoutAGate) {
  const Xielu xielu{.alpha_p = 0.8f, .alpha_n = 1.3f, .beta = 0.5f, .eps = -1e-6f};
  for (const Ungated function : {Ungated::kSquaredRelu, Ungated::kXielu}) {
    for (const int64_t count : {5, 4096}) {
      std::vector<float> want = normal_numbers(count, 3);
      const View<float> x = there(want);
      activate(host_queue(), function, xielu, of(want));
      EXPECT_EQ(waits_in([&] { activate(queue(), function, xielu, x); }), 0);
      expect_close(here(x), want, 1e-5f);
    }
  }
}

TEST_F(FewFamilies, ColumnsOfRows) {
  for (const int64_t first : {8, 3}) {
    const int64_t rows = 37, from = 48, to = 20, count = 12;
    const std::vector<float> x = normal_numbers(rows * from, 4);
    std::vector<float> want(static_cast<size_t>(rows * to), 7.0f);
    const View<float> y = there(want), there_x = there(x);
    copy_row_columns(host_queue(), {of(x).from(first), from}, {of(want).from(4), to}, rows, count);
    EXPECT_EQ(
        waits_in([&] {
          copy_row_columns(queue(), {there_x.from(first), from}, {y.from(4), to}, rows, count);
        }),
        0);
    EXPECT_EQ(here(y), want);
  }
}

TEST_F(FewFamilies, RowsTimesFactors) {
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{1, 64}, {37, 128}, {300, 33}}) {
    const std::vector<float> factors = normal_numbers(width, 9);
    std::vector<float> want = normal_numbers(rows * width, 10);
    const View<float> x = there(want), there_factors = there(factors);
    multiply_columns(host_queue(), of(factors), of(want));
    EXPECT_EQ(waits_in([&] { multiply_columns(queue(), there_factors, x); }), 0);
    expect_close(here(x), want, 1e-6f);
  }
}

TEST_F(FewFamilies, RowsTimesWeightsOfTheirExperts) {
  for (const auto& [rows, experts, n] :
       {std::array<int64_t, 3>{1, 16, 5120}, {17, 128, 64}, {100, 3, 33}, {5, 600, 1001}}) {
    const std::vector<float> logits = normal_numbers(rows * experts, 11),
                             x = normal_numbers(rows * n, 12);
    std::vector<float> want(x.size());
    weigh_rows(host_queue(), of(logits), of(x), rows, of(want));
    const View<float> there_logits = there(logits), there_x = there(x),
                      y = empty_there<float>(rows * n);
    EXPECT_EQ(waits_in([&] { weigh_rows(queue(), there_logits, there_x, rows, y); }), 0);
    expect_close(here(y), want, 1e-5f);
  }
}

TEST_F(FewFamilies, LatentKeys) {
  for (const auto& [rank, rope] : {std::pair{512, 64}, {32, 16}, {40, 6}}) {
    const LatentKeys shape{19, rank, rope, 1e-6f};
    const int64_t size = shape.rows * (rank + rope);
    const std::vector<float> x = normal_numbers(size, 5), weight = normal_numbers(rank, 6);
    std::vector<float> want(x.size());
    latent_keys(host_queue(), shape, of(x), of(weight), of(want));
    const View<float> there_x = there(x), there_weight = there(weight),
                      y = empty_there<float>(size);
    EXPECT_EQ(waits_in([&] { latent_keys(queue(), shape, there_x, there_weight, y); }), 0);
    expect_close(here(y), want, 1e-5f);
  }
}

/// Operands are rounded to bf16 on the GPU, so that the host's product reads numbers that bf16
/// holds.
TEST_F(FewFamilies, ProductsOfHeads) {
  struct Shape {
    int64_t rows, heads, outputs, inputs, x_width, x_first, y_width, y_first;
  };
  for (const Shape& s : {Shape{1, 20, 512, 192, 256, 0, 576, 64},
                         {5, 16, 128, 512, 576, 64, 128, 0},
                         {70, 3, 40, 24, 32, 8, 56, 16},
                         {300, 4, 256, 512, 576, 64, 256, 0}}) {
    for (const DType type : {DType::BF16, DType::F32}) {
      std::vector<float> x = normal_numbers(s.rows * s.heads * s.x_width, 7);
      std::vector<float> w = normal_numbers(s.heads * s.outputs * s.inputs, 8);
      std::vector<uint16_t> halves;
      for (float& each : x) each = bf16_to_f32(f32_to_bf16(each));
      for (float& each : w) {
        halves.push_back(f32_to_bf16(each));
        each = bf16_to_f32(halves.back());
      }
      const auto bytes = [&](const auto& numbers) {
        return std::vector<std::byte>(
            reinterpret_cast<const std::byte*>(numbers.data()),
            reinterpret_cast<const std::byte*>(numbers.data() + numbers.size()));
      };
      const std::vector<std::byte> stored = type == DType::BF16 ? bytes(halves) : bytes(w);
      HeadMatrices matrices{std::span<const std::byte>(stored), type, s.heads, s.outputs, s.inputs};
      std::vector<float> want(static_cast<size_t>(s.rows * s.heads * s.y_width), 3.0f);
      const View<float> y = there(want), there_x = there(x);
      multiply_heads(host_queue(), s.rows, matrices, {of(x), s.x_width, s.x_first},
                     {of(want), s.y_width, s.y_first});
      matrices.numbers = there(stored);
      EXPECT_EQ(waits_in([&] {
                  multiply_heads(queue(), s.rows, matrices, {there_x, s.x_width, s.x_first},
                                 {y, s.y_width, s.y_first});
                }),
                0);
      expect_close(here(y), want, 2e-4f);
    }
  }
}

}  // namespace
}  // namespace longhaul::cuda
