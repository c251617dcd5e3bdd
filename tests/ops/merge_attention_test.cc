#include "ops/attention/merge_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;

constexpr int kMergeDim = 6, kKeys = 20;

struct Rows {
  std::vector<float> out, lse;
};

/// Attention of every row over keys [begin, end) with given logits and values.
Rows attention(const std::vector<float>& logits, const std::vector<float>& values, int rows,
               int begin, int end) {
  Rows r{std::vector<float>(static_cast<size_t>(rows * kMergeDim)),
         std::vector<float>(static_cast<size_t>(rows))};
  for (int i = 0; i < rows; ++i) {
    double sum = 0;
    std::vector<double> out(kMergeDim);
    for (int j = begin; j < end; ++j) {
      const double weight =
          std::exp(static_cast<double>(logits[static_cast<size_t>(i * kKeys + j)]));
      sum += weight;
      for (int t = 0; t < kMergeDim; ++t)
        out[static_cast<size_t>(t)] += weight * values[static_cast<size_t>(j * kMergeDim + t)];
    }
    for (int t = 0; t < kMergeDim; ++t) {
      r.out[static_cast<size_t>(i * kMergeDim + t)] =
          sum > 0 ? static_cast<float>(out[static_cast<size_t>(t)] / sum) : 0.0f;
    }
    r.lse[static_cast<size_t>(i)] = static_cast<float>(std::log(sum));
  }
  return r;
}

TEST(MergeAttention, AnyPartitionOfTheKeysGivesTheWhole) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 3);
  const int rows = 150;
  std::vector<float> logits(rows * kKeys), values(kKeys * kMergeDim);
  for (float& x : logits) x = normal(random);
  for (float& x : values) x = normal(random);
  const Rows whole = attention(logits, values, rows, 0, kKeys);
  for (const int cut : {0, 1, 7, kKeys}) {
    Rows part = attention(logits, values, rows, 0, cut);
    const Rows other = attention(logits, values, rows, cut, kKeys);
    merge_attention(host_queue(), view_of(other.out), view_of(other.lse), rows / 3, 3, kMergeDim,
                    view_of(part.out), view_of(part.lse));
    for (size_t i = 0; i < whole.out.size(); ++i)
      ASSERT_NEAR(part.out[i], whole.out[i], 2e-6) << cut;
    for (size_t i = 0; i < whole.lse.size(); ++i) ASSERT_NEAR(part.lse[i], whole.lse[i], 2e-6);
  }
}

TEST(MergeAttention, RowsThatSawNothingStayEmpty) {
  const float nothing = -std::numeric_limits<float>::infinity();
  std::vector<float> out(kMergeDim), lse{nothing};
  const std::vector<float> other(kMergeDim, 7.0f);
  merge_attention(host_queue(), view_of(other), view_of(lse), 1, 1, kMergeDim, view_of(out),
                  view_of(lse));
  EXPECT_EQ(out, std::vector<float>(kMergeDim));
  EXPECT_EQ(lse[0], nothing);
}

}  // namespace
}  // namespace longhaul
