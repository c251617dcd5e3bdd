#include "ops/core/fill.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;

TEST(Fill, WritesTheViewAndNothingElse) {
  std::vector<float> x(70, 1.0f);
  fill(host_queue(), view_of(x).part(2, 65), -3.0f);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], i < 2 || i >= 67 ? 1.0f : -3.0f) << i;
  fill(host_queue(), {}, 2.0f);
}

TEST(Copy, WritesTheViewAndNothingElse) {
  std::vector<float> x(70, 1.0f);
  const std::vector<float> numbers = {2, -0.0f, 4};
  copy(host_queue(), view_of(numbers), view_of(x).part(5, 3));
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i], i < 5 || i >= 8 ? 1.0f : numbers[i - 5]) << i;
  }
  copy(host_queue(), {}, {});
}

TEST(AddLists, AddsToWhatIsThere) {
  const std::vector<float> x = {1, 2, 3, 10, 20, 30};
  std::vector<float> sums = {100, 200, 300};
  add_lists(host_queue(), view_of(x), view_of(sums));
  EXPECT_EQ(sums, (std::vector<float>{111, 222, 333}));
}

TEST(SumLists, AddsTheListsInTheirOrder) {
  for (const size_t n : {1u, 63u, 64u, 65u}) {
    for (const size_t lists : {0u, 1u, 3u}) {
      std::vector<float> x(n * lists), sums(n, NAN);
      for (size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(1.0f, static_cast<int>(i % 40)) / 3;
      sum_lists(host_queue(), view_of(x), view_of(sums));
      for (size_t i = 0; i < n; ++i) {
        float want = 0;  // in f32, so that the order matters
        for (size_t l = 0; l < lists; ++l) want += x[l * n + i];
        EXPECT_EQ(sums[i], want) << i;
      }
    }
  }
  sum_lists(host_queue(), {}, {});
}

}  // namespace
}  // namespace longhaul
