#include "attention/methods/keydiff/key_difference.h"

#include <gtest/gtest.h>

#include "ops/isa_fixture.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::view_of;

double length(const std::vector<double>& x) {
  double square = 0;
  for (const double e : x) square += e * e;
  return std::sqrt(square);
}

std::vector<double> plain(const PagedHead& head, int64_t count) {
  std::vector<double> anchor(static_cast<size_t>(head.head_dim)), scores;
  std::vector<std::vector<double>> keys;
  for (int64_t i = 0; i < count; ++i) {
    const auto& key = keys.emplace_back(head.k[static_cast<size_t>(i)].begin(),
                                        head.k[static_cast<size_t>(i)].end());
    const double weight = 1 / (std::max(length(key), 1e-12) * static_cast<double>(count));
    for (size_t t = 0; t < key.size(); ++t) anchor[t] += key[t] * weight;
  }
  const double anchor_length = length(anchor);
  for (const auto& key : keys) {
    double product = 0;
    for (size_t t = 0; t < key.size(); ++t) product += key[t] * anchor[t];
    scores.push_back(-product / (std::max(length(key), 1e-8) * std::max(anchor_length, 1e-8)));
  }
  return scores;
}

TEST(KeyDifference, EqualsTheDefinition) {
  for (const DType type : {DType::F32, DType::BF16, DType::F16, DType::Q8_0, DType::Q4_0}) {
    std::mt19937 random(5);
    const PagedHead head(type, type == DType::BF16 ? 64 : 96, 2100, random);
    for (const int64_t keys : {0, 1, 63, 64, 65, 1024, 1025, 2100}) {
      const auto want = plain(head, keys);
      at_every_isa([&] {
        std::vector<float> scores(static_cast<size_t>(keys), NAN);
        key_difference(host_queue(), head.view(), view_of(scores));
        for (size_t i = 0; i < scores.size(); ++i) {
          ASSERT_NEAR(scores[i], want[i], 2e-6) << "key " << i << " of " << keys;
        }
      });
    }
  }
}

TEST(KeyDifference, AnOddHeadSizeAndAKeyOfZeros) {
  at_every_isa([] {
    std::mt19937 random(6);
    PagedHead head(DType::F32, 24, 70, random);
    for (const size_t row : {0u, 40u}) {
      std::fill(head.k[row].begin(), head.k[row].end(), 0.0f);
      PagedHead::encode(DType::F32, true, head.k[row], head.at(row, false));
    }
    std::vector<float> scores(70);
    key_difference(host_queue(), head.view(), view_of(scores));
    const auto want = plain(head, 70);
    for (size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], want[i], 2e-6) << i;
    EXPECT_EQ(scores[40], 0);
  });
}

TEST(KeyDifference, DoesNotDependOnThreads) {
  const RestoreIsaAndThreads restore;
  std::mt19937 random(7);
  const PagedHead head(DType::BF16, 64, 5000, random);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    results.emplace_back(5000);
    key_difference(host_queue(), head.view(), view_of(results.back()));
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace longhaul
