#include "ops/maps/mean_keys.h"

#include <gtest/gtest.h>

#include "ops/isa_fixture.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::view_of;

TEST(MeanKeys, AveragesBlocksOfStoredKeys) {
  at_every_isa([] {
    for (const DType type : {DType::F32, DType::BF16, DType::F16, DType::Q8_0, DType::Q4_0}) {
      for (const int64_t keys : {1, 63, 64, 65, 300}) {
        std::mt19937 random(5);
        const PagedHead head(type, 64, 300, random);
        const int64_t blocks = (keys + 63) / 64;
        std::vector<float> means(static_cast<size_t>(blocks * 64), NAN);
        mean_keys(host_queue(), head.view(), keys, 64, view_of(means));
        for (int64_t b = 0; b < blocks; ++b) {
          const int64_t end = std::min(keys, 64 * b + 64);
          for (size_t t = 0; t < 64; ++t) {
            double sum = 0;
            for (int64_t i = 64 * b; i < end; ++i) sum += head.k[static_cast<size_t>(i)][t];
            ASSERT_NEAR(means[static_cast<size_t>(b) * 64 + t],
                        sum / static_cast<double>(end - 64 * b), 1e-5)
                << "block " << b;
          }
        }
      }
    }
  });
}

TEST(MeanKeys, QueryMeansAndScores) {
  at_every_isa([] {
    for (const int dim : {24, 64, 80}) {
      std::mt19937 random(6);
      std::normal_distribution<float> normal;
      std::vector<float> q(static_cast<size_t>(10 * 3 * dim)), means(static_cast<size_t>(7 * dim));
      for (float& x : q) x = normal(random);
      for (float& x : means) x = normal(random);
      std::vector<float> mean(static_cast<size_t>(dim)), scores(7);
      mean_query(host_queue(), view_of(q), 3, dim, 1, 4, 9, view_of(mean));
      mean_scores(host_queue(), view_of(mean), view_of(means), 7, dim, 0.25f, view_of(scores));
      std::vector<double> want(static_cast<size_t>(dim));
      for (int r = 4; r < 9; ++r) {
        for (int t = 0; t < dim; ++t) {
          want[static_cast<size_t>(t)] += q[static_cast<size_t>((r * 3 + 1) * dim + t)] / 5.0;
        }
      }
      for (int b = 0; b < 7; ++b) {
        double dot = 0;
        for (int t = 0; t < dim; ++t) {
          dot += want[static_cast<size_t>(t)] * means[static_cast<size_t>(b * dim + t)];
        }
        EXPECT_NEAR(scores[static_cast<size_t>(b)], dot / 4, 1e-4);
      }
    }
  });
}

TEST(MeanKeys, SoftmaxOfNothingAndOfLargeScores) {
  softmax_of(host_queue(), {});
  float scores[] = {1000, 1000, -1000};
  softmax_of(host_queue(), {scores, 3});
  EXPECT_NEAR(scores[0], 0.5, 1e-6);
  EXPECT_EQ(scores[2], 0);
}

}  // namespace
}  // namespace longhaul
