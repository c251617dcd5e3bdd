// Elementwise kernels, norms and rotations compared with the host's operations.

#include <cmath>
#include <limits>

#include "on_device.h"
#include "ops/attention/merge_attention.h"
#include "ops/attention/query_growth.h"
#include "ops/attention/rope.gpu.h"
#include "ops/attention/rope.h"
#include "ops/core/add.h"
#include "ops/core/convert.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/core/fill.h"
#include "ops/core/rms_norm.gpu.h"
#include "ops/core/rms_norm.h"
#include "ops/core/soft_cap.h"
#include "ops/core/swiglu.h"

namespace longhaul::cuda {
namespace {

struct Shape {
  int64_t rows, n, stride;
  size_t shift;  // elements off the 16-byte alignment
};
const Shape kShapes[] = {{1, 1, 1, 0},       {3, 5, 7, 1},       {2, 576, 576, 0},
                         {7, 4096, 4100, 0}, {5, 33, 33, 2},     {1, 14336, 14336, 0},
                         {300, 8, 24, 0},    {2, 4097, 4099, 3}, {9, 128, 130, 0}};

size_t size_of(int64_t count) { return static_cast<size_t>(count); }

/// Checks that each row of `stride` is unchanged after its first n elements.
void expect_between(const std::vector<float>& got, const std::vector<float>& before, int64_t n,
                    int64_t stride) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (static_cast<int64_t>(i) % stride >= n) {
      ASSERT_EQ(got[i], before[i]);
    }
  }
}

TEST(CudaElementwise, AddAndBias) {
  for (const Shape& s : kShapes) {
    for (const bool with_bias : {false, true}) {
      std::vector<float> y = random_floats(size_of(s.rows * s.n), 1);
      const std::vector<float> x = random_floats(y.size(), 2),
                               bias = random_floats(size_of(s.n), 3);
      const OnDevice<float> y_there(y, s.shift), x_there(x, s.shift), bias_there(bias, s.shift);
      add(nullptr, y_there.data(), x_there.data(), s.rows, s.n,
          with_bias ? bias_there.data() : nullptr);
      longhaul::add(y.data(), x.data(), s.rows, s.n, with_bias ? bias.data() : nullptr);
      EXPECT_EQ(y_there.get(), y);
    }
    std::vector<float> y = random_floats(size_of(s.rows * s.stride), 4);
    const std::vector<float> bias = random_floats(size_of(s.n), 5);
    const OnDevice<float> y_there(y, s.shift), bias_there(bias, s.shift);
    add_bias(nullptr, y_there.data(), bias_there.data(), s.rows, s.n, s.stride);
    longhaul::add_bias(y.data(), bias.data(), s.rows, s.n, s.stride);
    EXPECT_EQ(y_there.get(), y);
  }
}

class CudaGating : public ::testing::TestWithParam<Gating> {};

TEST_P(CudaGating, EqualsTheHost) {
  const Gating& gating = GetParam();
  for (const Shape& s : kShapes) {
    std::vector<float> gate = random_floats(size_of(s.rows * s.stride), 1, 4);
    gate[0] = -200;
    const std::vector<float> up = random_floats(gate.size(), 2);
    const OnDevice<float> gate_there(gate, s.shift), up_there(up, s.shift);
    std::vector<float> expected(size_of(s.rows * s.n));
    longhaul::swiglu(gate.data(), up.data(), s.rows, s.n, s.stride, expected.data(), gating);
    const OnDevice<float> y(expected.size(), s.shift);
    swiglu(nullptr, gate_there.data(), up_there.data(), s.rows, s.n, s.stride, y.data(), gating);
    // Errors in the last bit of a large exponent are visible.
    expect_close(y.get(), expected, gating == Gating{} ? 1e-6 : 3e-5, 1e-30);
    const OnDevice<uint16_t> y_bf16(expected.size(), s.shift);
    swiglu(nullptr, gate_there.data(), up_there.data(), s.rows, s.n, s.stride, y_bf16.data(),
           gating);
    std::vector<float> got;
    for (const uint16_t v : y_bf16.get()) got.push_back(longhaul::bf16_to_f32(v));
    expect_close(got, expected, 1.0 / 250, 1e-30);
  }
}

/// bf16 values use a faster exponential, in runs of 8, 4 and 1. Rounding to bf16 hides its error.
TEST_P(CudaGating, OfBf16EqualsTheHost) {
  const Gating& gating = GetParam();
  for (const auto& [n, shift] : {std::pair<int64_t, size_t>{72, 0}, {36, 0}, {7, 0}, {72, 1}}) {
    const int64_t rows = 3;
    const auto rounded = [&](uint32_t seed, float size) {
      std::vector<uint16_t> x;
      for (const float v : random_floats(size_of(rows * n), seed, size)) {
        x.push_back(longhaul::f32_to_bf16(v));
      }
      return x;
    };
    std::vector<uint16_t> gate = rounded(1, 4);
    const float edges[] = {-200, -88.25f, -87, 88.25f, 1e4f, -1e4f, 0};
    for (size_t i = 0; i < std::size(edges); ++i) gate[i] = longhaul::f32_to_bf16(edges[i]);
    const std::vector<uint16_t> up = rounded(2, 1);
    const auto numbers = [](const std::vector<uint16_t>& x) {
      std::vector<float> y;
      for (const uint16_t v : x) y.push_back(longhaul::bf16_to_f32(v));
      return y;
    };
    std::vector<float> expected(gate.size());
    longhaul::swiglu(numbers(gate).data(), numbers(up).data(), rows, n, n, expected.data(), gating);
    const OnDevice<uint16_t> gate_there(gate, shift), up_there(up, shift), y(gate.size(), shift);
    swiglu(nullptr, gate_there.data(), up_there.data(), rows, n, n, y.data(), gating);
    expect_close(numbers(y.get()), expected, 1.0 / 250, 1e-30);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaGating, ::testing::Values(Gating{}, kGeluGating, kClampedGating));

/// Rows written for products equal the f32 result of the operation, rounded separately.
TEST(CudaElementwise, RowsForProducts) {
  const float eps = 1e-5f;
  for (const auto& [rows, n] :
       {std::pair<int64_t, int64_t>{1, 4096}, {3, 576}, {8, 14336}, {2, 32}, {1, 96}, {5, 16384}}) {
    const size_t count = size_of(rows * n);
    const OnDevice<float> x(random_floats(count, 1, 3)), up(random_floats(count, 2)),
        weight(random_floats(size_of(n), 3));
    for (const int operation : {0, 1, 2}) {
      const OnDevice<float> y(count);
      const OnDevice<uint16_t> bf16(count), bf16_alone(count);
      const OnDevice<uint8_t> int8(int8_bytes(rows, n)), int8_alone(int8_bytes(rows, n));
      const ProductRows forms{bf16.data(), int8_rows_in(int8.data(), rows, n)};
      if (operation == 0) {
        rms_norm(nullptr, x.data(), n, weight.data(), eps, rows, n, forms);
        rms_norm(nullptr, x.data(), n, weight.data(), eps, rows, n, y.data());
      } else if (operation == 1) {
        swiglu(nullptr, x.data(), up.data(), rows, n, forms);
        swiglu(nullptr, x.data(), up.data(), rows, n, n, y.data());
      } else {
        f32_to_product_rows(nullptr, x.data(), rows, n, forms);
        copy(nullptr, x.data(), rows * n, y.data());
      }
      f32_to_bf16(nullptr, y.data(), rows * n, bf16_alone.data());
      round_to_int8(nullptr, y.data(), rows, n, n, int8_rows_in(int8_alone.data(), rows, n));
      EXPECT_EQ(bf16.get(), bf16_alone.get()) << operation << ' ' << rows << 'x' << n;
      EXPECT_EQ(int8.get(), int8_alone.get()) << operation << ' ' << rows << 'x' << n;
    }
  }
}

TEST(CudaElementwise, Conversions) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{1000}, size_t{4099}}) {
    for (const size_t shift : {0u, 1u}) {
      std::vector<float> x = random_floats(count, 6, 1e3f);
      if (count > 2) x[0] = INFINITY, x[1] = NAN, x[2] = -0.0f;
      const OnDevice<float> x_there(x, shift), back(count, shift);
      const OnDevice<uint16_t> y(count, shift);
      f32_to_bf16(nullptr, x_there.data(), static_cast<int64_t>(count), y.data());
      std::vector<uint16_t> expected(count);
      longhaul::f32_to_bf16(x.data(), static_cast<int64_t>(count), expected.data());
      EXPECT_EQ(y.get(), expected);
      bf16_to_f32(nullptr, y.data(), static_cast<int64_t>(count), back.data());
      const std::vector<float> got = back.get();
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(std::bit_cast<uint32_t>(got[i]), uint32_t{expected[i]} << 16);
      }
    }
  }
}

TEST(CudaElementwise, FillCopyAndLists) {
  for (const int64_t n : {1, 7, 64, 1001}) {
    for (const size_t shift : {0u, 1u}) {
      const std::vector<float> x = random_floats(size_of(5 * n), 7);
      const OnDevice<float> x_there(x, shift), out(size_of(n), shift);
      fill(nullptr, out.data(), n, 2.5f);
      std::vector<float> expected(size_of(n), 2.5f);
      EXPECT_EQ(out.get(), expected);
      add_lists(nullptr, x_there.data(), 5, n, out.data());
      longhaul::add_lists(host_queue(), std::span<const float>(x), std::span<float>(expected));
      EXPECT_EQ(out.get(), expected);
      sum_lists(nullptr, x_there.data(), 5, n, out.data());
      longhaul::sum_lists(host_queue(), std::span<const float>(x), std::span<float>(expected));
      EXPECT_EQ(out.get(), expected);
      copy(nullptr, x_there.data() + n, n, out.data());
      EXPECT_EQ(out.get(), std::vector<float>(x.begin() + n, x.begin() + 2 * n));
    }
  }
}

TEST(CudaElementwise, AddScaledAndSoftCap) {
  for (const int64_t n : {1, 7, 64, 4099}) {
    for (const size_t shift : {0u, 1u}) {
      const std::vector<float> x = random_floats(size_of(n), 7, 40);
      std::vector<float> sum = random_floats(size_of(n), 8), capped = x, scaled = x;
      const OnDevice<float> x_there(x, shift), y(sum, shift);
      add_scaled(nullptr, x_there.data(), 0.22f, n, y.data());
      longhaul::add_scaled(sum.data(), x.data(), n, 0.22f);
      expect_close(y.get(), sum, 1e-6, 1e-6);
      scale_and_cap(nullptr, x_there.data(), n, 0.5f, 30);
      longhaul::scale_and_cap(capped.data(), n, 0.5f, 30);
      expect_close(x_there.get(), capped, 1e-5, 1e-5);
      const OnDevice<float> again(x, shift);
      scale_and_cap(nullptr, again.data(), n, 0.5f, 0);
      longhaul::scale_and_cap(scaled.data(), n, 0.5f, 0);
      EXPECT_EQ(again.get(), scaled);
    }
  }
}

TEST(CudaElementwise, QueriesThatGrow) {
  for (const auto& [rows, n, first] :
       {std::array<int, 3>{300, 64, 70}, {1, 5, 1000003}, {3, 33, 0}}) {
    std::vector<float> x = random_floats(size_of(int64_t{rows} * n), 9);
    const OnDevice<float> there(x);
    const QueryGrowth growth{.length = 50, .rate = 0.1f};
    grow_queries(nullptr, there.data(), rows, n, first, growth);
    longhaul::grow_queries(x.data(), rows, n, first, growth);
    expect_close(there.get(), x, 1e-6, 0);
  }
}

TEST(CudaElementwise, MergeAttention) {
  const int64_t rows = 7;
  const int heads = 3, dim = 80;
  const size_t vectors = size_of(rows * heads);
  std::vector<float> out = random_floats(vectors * dim, 1), lse = random_floats(vectors, 2, 5);
  const std::vector<float> other = random_floats(vectors * dim, 3);
  std::vector<float> other_lse = random_floats(vectors, 4, 5);
  lse[0] = other_lse[1] = lse[2] = other_lse[2] = -INFINITY;
  const OnDevice<float> o(out), l(lse), oo(other), ol(other_lse);
  merge_attention(nullptr, oo.data(), ol.data(), rows * heads, dim, o.data(), l.data());
  longhaul::merge_attention(host_queue(), std::span<const float>(other),
                            std::span<const float>(other_lse), rows, heads, dim,
                            std::span<float>(out), std::span<float>(lse));
  expect_close(o.get(), out, 1e-5, 1e-6);
  const std::vector<float> got = l.get();
  for (size_t i = 0; i < vectors; ++i) {
    if (std::isinf(lse[i])) {
      EXPECT_EQ(got[i], lse[i]);
    } else {
      EXPECT_NEAR(got[i], lse[i], 1e-5);
    }
  }
}

TEST(CudaRmsNorm, EqualsTheHost) {
  for (const Shape& s : kShapes) {
    const std::vector<float> x = random_floats(size_of(s.rows * s.stride), 1, 3);
    const std::vector<float> weight = random_floats(size_of(s.n), 2);
    std::vector<float> packed, expected(size_of(s.rows * s.n));
    for (int64_t r = 0; r < s.rows; ++r) {
      packed.insert(packed.end(), x.begin() + r * s.stride, x.begin() + r * s.stride + s.n);
    }
    longhaul::rms_norm(packed.data(), weight.data(), 1e-5f, s.rows, s.n, expected.data());
    const OnDevice<float> x_there(x, s.shift), w(weight, s.shift), y(expected.size(), s.shift);
    rms_norm(nullptr, x_there.data(), s.stride, w.data(), 1e-5f, s.rows, s.n, y.data());
    expect_close(y.get(), expected, 3e-6, 1e-30);
    const OnDevice<uint16_t> y_bf16(expected.size(), s.shift);
    rms_norm(nullptr, x_there.data(), s.stride, w.data(), 1e-5f, s.rows, s.n, y_bf16.data());
    std::vector<float> got;
    for (const uint16_t v : y_bf16.get()) got.push_back(longhaul::bf16_to_f32(v));
    expect_close(got, expected, 1.0 / 250, 1e-30);
    const OnDevice<float> own(packed);
    rms_norm(nullptr, own.data(), s.n, w.data(), 1e-5f, s.rows, s.n, own.data());
    expect_close(own.get(), expected, 3e-6, 1e-30);
  }
}

TEST(CudaRmsNorm, AddedToTheStream) {
  for (const Shape& s : kShapes) {
    const std::vector<float> y = random_floats(size_of(s.rows * s.n), 1, 3);
    const std::vector<float> weight = random_floats(size_of(s.n), 2);
    std::vector<float> x = random_floats(y.size(), 3), normed(y.size());
    const OnDevice<float> y_there(y, s.shift), w(weight, s.shift), x_there(x, s.shift);
    add_rms_norm(nullptr, y_there.data(), w.data(), 1e-5f, 0.5f, s.rows, s.n, x_there.data());
    longhaul::rms_norm(y.data(), weight.data(), 1e-5f, s.rows, s.n, normed.data());
    longhaul::add_scaled(x.data(), normed.data(), s.rows * s.n, 0.5f);
    expect_close(x_there.get(), x, 1e-5, 1e-5);
  }
}

TEST(CudaRmsNorm, HeadsInPlace) {
  for (const int dim : {64, 80, 128, 5}) {
    const int heads = 3;
    const int64_t tokens = 11, stride = heads * dim + 4;
    std::vector<float> x = random_floats(size_of(tokens * stride), 1, 3);
    const std::vector<float> weight = random_floats(size_of(dim), 2), before = x;
    const OnDevice<float> there(x), w(weight);
    rms_norm_heads(nullptr, there.data(), w.data(), 1e-6f, tokens, heads, dim, stride);
    longhaul::rms_norm_heads(x.data(), weight.data(), 1e-6f, tokens, heads, dim, stride);
    const std::vector<float> got = there.get();
    expect_close(got, x, 3e-6, 1e-30);
    expect_between(got, before, heads * dim, stride);
  }
}

RopeTable table_of(int half) {
  RopeTable table;
  for (int t = 0; t < half; ++t) {
    table.inverse_frequency.push_back(std::pow(500000.0, -static_cast<double>(t) / half));
  }
  table.attention_factor = 1.2f;
  return table;
}

TEST(CudaRope, AnglesAreWithinOneUnitInTheLastPlace) {
  for (const int64_t first : {int64_t{0}, int64_t{1000003}}) {
    const RopeTable table = table_of(64);
    RotationBuffer buffer;
    const longhaul::Rotations& expected = buffer.fill(host_queue(), table, first, 300);
    const OnDevice<double> frequencies(table.inverse_frequency);
    const OnDevice<float> c(300 * 64), s(300 * 64);
    rope_angles(nullptr, frequencies.data(), 64, table.attention_factor, first, 300, c.data(),
                s.data());
    const std::vector<float> cosine = c.get(), sine = s.get();
    for (size_t i = 0; i < cosine.size(); ++i) {
      for (const auto& [got, want] :
           {std::pair{cosine[i], expected.cosine[i]}, std::pair{sine[i], expected.sine[i]}}) {
        ASSERT_LE(got, std::nextafter(want, INFINITY)) << i;
        ASSERT_GE(got, std::nextafter(want, -INFINITY)) << i;
      }
    }
  }
}

TEST(CudaRope, RotatesAsTheHost) {
  for (const auto& [heads, dim, rotary, more, shift] : {std::array<int, 5>{3, 64, 64, 0, 0},
                                                        {2, 80, 80, 4, 0},
                                                        {2, 96, 32, 1, 0},
                                                        {1, 7, 6, 0, 1}}) {
    const int64_t rows = 9, stride = heads * dim + more, width = heads * dim;
    const RopeTable table = table_of(rotary / 2);
    RotationBuffer buffer;
    const longhaul::Rotations& host_rotations = buffer.fill(host_queue(), table, 100, 20);
    const size_t angles = size_of(20 * (rotary / 2));
    const OnDevice<float> c(
        std::vector<float>(host_rotations.cosine, host_rotations.cosine + angles));
    const OnDevice<float> s(std::vector<float>(host_rotations.sine, host_rotations.sine + angles));
    const Rotations rotations{100, 20, rotary, c.data(), s.data()};
    const std::vector<float> x = random_floats(size_of(rows * stride), 1);
    std::vector<float> packed, expected(size_of(rows * width));
    for (int64_t r = 0; r < rows; ++r) {
      packed.insert(packed.end(), x.begin() + r * stride, x.begin() + r * stride + width);
    }
    const OnDevice<float> there(x, size_of(shift)), y(expected.size(), size_of(shift));
    const HeadRows head_rows{there.data(), rows, heads, dim, stride};
    const auto view = std::span<const float>(packed);
    apply_rope(nullptr, rotations, 105, head_rows, y.data(), width);
    longhaul::apply_rope(host_queue(), host_rotations, 105, view, rows, heads, dim,
                         std::span<float>(expected));
    expect_close(y.get(), expected, 1e-6, 1e-6);
    apply_rope_constant(nullptr, rotations, 111, head_rows, y.data(), width);
    longhaul::apply_rope_constant(host_queue(), host_rotations, 111, view, rows, heads, dim,
                                  std::span<float>(expected));
    const std::vector<float> constant = y.get();
    expect_close(constant, expected, 1e-6, 1e-6);
    apply_rope_constant(nullptr, rotations, 111, head_rows, there.data(), stride);  // in place
    const std::vector<float> own = there.get();
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < stride; ++i) {
        const float want =
            i < width ? constant[size_of(r * width + i)] : x[size_of(r * stride + i)];
        ASSERT_EQ(own[size_of(r * stride + i)], want);
      }
    }
  }
}

}  // namespace
}  // namespace longhaul::cuda
