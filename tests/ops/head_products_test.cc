// Products of heads, columns of rows and latent keys compared with plain loops, on the host and on
// a device that lacks these operations.

#include "ops/matmul/head_products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/float_types.h"
#include "ops/attention/latent_keys.h"
#include "ops/core/columns.h"
#include "ops/fake_device.h"
#include "ops/random_floats.h"

namespace longhaul {
namespace {

/// Numbers in the memory of a queue.
template <class T>
struct Placed {
  Placed(Queue& queue, const std::vector<T>& from) : on(queue) {
    memory.resize(on, std::ssize(from));
    if (on.on_host())
      std::copy(from.begin(), from.end(), memory.view().address());
    else
      on.device().upload(from.data(), memory.view().address(), from.size() * sizeof(T));
  }
  std::vector<T> back() {
    const T* const from = memory.view().address();  // a fake device's memory is the host's
    return {from, from + memory.size()};
  }
  Queue on;
  Array<T> memory;
};

std::vector<Queue> both_places() { return {Queue(), testing_support::fake_queue()}; }

TEST(HeadProducts, EqualPlainLoops) {
  const int64_t rows = 5, heads = 3, outputs = 7, inputs = 24, x_width = 32, y_width = 10;
  const auto x = testing_support::random_floats(rows * heads * x_width, 1);
  const auto w = testing_support::random_floats(heads * outputs * inputs, 2);
  for (Queue queue : both_places()) {
    for (const DType type : {DType::F32, DType::BF16}) {
      std::vector<std::byte> stored;
      for (const float each : w) {
        const uint16_t half = f32_to_bf16(each);
        const auto* const bytes = type == DType::F32 ? reinterpret_cast<const std::byte*>(&each)
                                                     : reinterpret_cast<const std::byte*>(&half);
        stored.insert(stored.end(), bytes, bytes + bytes_of(type, 1));
      }
      Placed<float> from(queue, x);
      Placed<float> to(queue, std::vector<float>(static_cast<size_t>(rows * heads * y_width), 9));
      Placed<std::byte> matrices(queue, stored);
      multiply_heads(queue, rows, {matrices.memory.view(), type, heads, outputs, inputs},
                     {from.memory.view(), x_width, 8}, {to.memory.view(), y_width, 2});
      const std::vector<float> got = to.back();
      for (int64_t r = 0; r < rows * heads; ++r) {
        for (int64_t o = 0; o < y_width; ++o) {
          double want = 0;
          for (int64_t i = 0; i < inputs && o >= 2 && o < 2 + outputs; ++i) {
            const float number =
                w[static_cast<size_t>(((r % heads) * outputs + o - 2) * inputs + i)];
            const float read = type == DType::F32 ? number : bf16_to_f32(f32_to_bf16(number));
            want += double{x[static_cast<size_t>(r * x_width + 8 + i)]} * read;
          }
          if (o < 2 || o >= 2 + outputs) want = 9;  // not written
          ASSERT_NEAR(got[static_cast<size_t>(r * y_width + o)], want, 1e-4) << r << ' ' << o;
        }
      }
    }
  }
}

TEST(HeadProducts, ColumnsAreCopied) {
  const int64_t rows = 70;
  const auto x = testing_support::random_floats(rows * 12, 3);
  for (Queue queue : both_places()) {
    Placed<float> from(queue, x), to(queue, std::vector<float>(static_cast<size_t>(rows * 5), 9));
    copy_row_columns(queue, {from.memory.view().from(4), 12}, {to.memory.view().from(1), 5}, rows,
                     3);
    const std::vector<float> got = to.back();
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < 5; ++i) {
        const float want = i >= 1 && i < 4 ? x[static_cast<size_t>(r * 12 + 3 + i)] : 9.0f;
        ASSERT_EQ(got[static_cast<size_t>(r * 5 + i)], want) << r << ' ' << i;
      }
    }
  }
}

TEST(HeadProducts, LatentKeysAreTheRotatedPartAndTheNormalisedVector) {
  const LatentKeys shape{.rows = 9, .rank = 10, .rope = 4, .eps = 1e-3f};
  const auto x = testing_support::random_floats(9 * 14, 4);
  const auto weight = testing_support::random_floats(10, 5);
  for (Queue queue : both_places()) {
    Placed<float> from(queue, x), scale(queue, weight), to(queue, std::vector<float>(9 * 14, 9));
    latent_keys(queue, shape, from.memory.view(), scale.memory.view(), to.memory.view());
    const std::vector<float> got = to.back();
    for (size_t r = 0; r < 9; ++r) {
      double squares = 0;
      for (size_t i = 0; i < 10; ++i) squares += std::pow(double{x[r * 14 + i]}, 2);
      const double factor = 1 / std::sqrt(squares / 10 + double{shape.eps});
      for (size_t i = 0; i < 4; ++i) ASSERT_EQ(got[r * 14 + i], x[r * 14 + 10 + i]);
      for (size_t i = 0; i < 10; ++i) {
        ASSERT_NEAR(got[r * 14 + 4 + i], x[r * 14 + i] * factor * weight[i], 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
