#include "ops/grad/transposed_weight.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "base/float_types.h"
#include "isa_fixture.h"
#include "ops/random_floats.h"

namespace longhaul {
namespace {

using testing_support::random_floats;

TensorView view_of(const std::vector<float>& numbers, int64_t rows, int64_t cols) {
  return {reinterpret_cast<const std::byte*>(numbers.data()),
          DType::F32,
          2,
          {rows, cols, 1, 1},
          "weight"};
}

TEST(TransposedWeight, HasColumnsAsRowsAndTheAdapterInIt) {
  const int64_t outputs = 150, cols = 70, rank = 3;
  const std::vector<float> w = random_floats(outputs * cols, 1), a = random_floats(rank * cols, 2),
                           b = random_floats(outputs * rank, 3);
  LowRank adapter;
  adapter.a = view_of(a, rank, cols);
  adapter.b = view_of(b, outputs, rank);
  adapter.scale = {0.5f, 2.0f, -1.0f};
  at_every_isa([&] {
    for (const LowRank* beside : {static_cast<const LowRank*>(nullptr), &std::as_const(adapter)}) {
      TransposedWeight f32, bf16;
      f32.assign(view_of(w, outputs, cols), beside, DType::F32);
      bf16.assign(view_of(w, outputs, cols), beside, DType::BF16);
      ASSERT_EQ(f32.view().rows(), cols);
      ASSERT_EQ(f32.view().cols(), outputs);
      for (int64_t c = 0; c < cols; ++c) {
        for (int64_t o = 0; o < outputs; ++o) {
          double expected = w[static_cast<size_t>(o * cols + c)];
          for (int64_t r = 0; beside != nullptr && r < rank; ++r) {
            expected += static_cast<double>(adapter.scale[static_cast<size_t>(r)]) *
                        a[static_cast<size_t>(r * cols + c)] * b[static_cast<size_t>(o * rank + r)];
          }
          float full = 0;
          bf16_t half;
          std::memcpy(&full, f32.view().row(c) + o * 4, 4);
          std::memcpy(&half, bf16.view().row(c) + o * 2, 2);
          ASSERT_NEAR(full, expected, 1e-5);
          ASSERT_EQ(half, f32_to_bf16(full));
        }
      }
    }
  });
}

}  // namespace
}  // namespace longhaul
