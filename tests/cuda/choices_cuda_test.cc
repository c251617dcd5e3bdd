// Choices of keys and rows on a GPU, and the scores that they use, compared with the host's.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attention/methods/keydiff/key_difference.gpu.h"
#include "attention/methods/keydiff/key_difference.h"
#include "attention/methods/roco/steady_scores.gpu.h"
#include "attention/methods/roco/steady_scores.h"
#include "cuda/paged_heads.h"
#include "ops/attention/sliding_rows.h"
#include "ops/choose/pool_scores.h"
#include "ops/choose/select_rows.gpu.h"
#include "ops/choose/select_rows.h"
#include "ops/core/mean_rows.h"
#include "ops/core/score_vectors.gpu.h"
#include "ops/maps/maps.gpu.h"
#include "ops/maps/mean_keys.h"

namespace longhaul::cuda {
namespace {

std::vector<float> scores_of_kind(int kind, size_t count) {
  std::vector<float> scores = random_floats(count, static_cast<uint32_t>(kind + 1));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < count; ++i) {
    if (kind == 1) scores[i] = std::round(2 * scores[i]);
    if (kind == 2) scores[i] = 1;
    if (kind == 3)
      scores[i] = i % 7 == 0 ? NAN : i % 5 == 0 ? -kInfinity : i % 3 == 0 ? -0.0f : 0.0f;
  }
  return scores;
}

TEST(CudaSelectRows, EqualTheHosts) {
  for (const int64_t rows : {1, 63, 64, 65, 1000, 1025, 5000, 131072}) {
    for (int kind = 0; kind < 4; ++kind) {
      std::vector<std::vector<float>> lists;
      std::vector<OnDevice<float>> scores;
      std::vector<OnDevice<int32_t>> chosen;
      std::vector<RowsToKeep> keeps;
      for (const int64_t share : {0, 1, 2, 3, 4}) {
        RowsToKeep keep{std::min<int64_t>(rows, 4), std::min<int64_t>(rows, 9), 0};
        keep.count = std::max(keep.first + keep.last, rows * share / 4) + (share == 1);
        lists.push_back(scores_of_kind(kind, static_cast<size_t>(rows)));
        scores.emplace_back(lists.back());
        chosen.emplace_back(static_cast<size_t>(std::min(rows, keep.count)));
        keeps.push_back(keep);
      }
      std::vector<SelectTask> tasks;
      for (size_t i = 0; i < keeps.size(); ++i) {
        tasks.push_back({scores[i].data(), rows, keeps[i].first, keeps[i].last, keeps[i].count,
                         chosen[i].data()});
      }
      select_rows(nullptr, tasks);
      for (size_t i = 0; i < keeps.size(); ++i) {
        RowSelection selection;
        const RowList list =
            longhaul::select_rows(host_queue(), view_of(lists[i]), keeps[i], selection);
        const auto expected = host_rows(list);
        EXPECT_EQ(chosen[i].get(), std::vector<int32_t>(expected.begin(), expected.end()))
            << rows << " rows, kind " << kind << ", keeps " << keeps[i].count;
      }
    }
  }
}

TEST(CudaStoredKeys, MeansAndDifferencesEqualTheHosts) {
  ScoreScratch scratch;
  for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0}) {
    for (const int64_t count : {1, 63, 65, 1000, 3000}) {
      const int dim = count == 65 ? 96 : 128;
      const PagedHeads heads(type, dim, 1, count, 5);
      const auto numbers = static_cast<size_t>((count + 63) / 64 * dim);
      std::vector<float> means(numbers), scores(static_cast<size_t>(count));
      const OnDevice<float> means_there(numbers), scores_there(scores.size());
      longhaul::mean_keys(host_queue(), heads.on_host(0), count, 64, view_of(means));
      ASSERT_TRUE(mean_keys(nullptr, heads.on_device(0), count, 64, view_of(means_there, numbers)));
      expect_close(means_there.get(), means, 1e-5, 1e-6);
      longhaul::key_difference(host_queue(), heads.on_host(0), view_of(scores));
      ASSERT_TRUE(key_difference(nullptr, heads.on_device(0), view_of(scores_there, scores.size()),
                                 scratch));
      expect_close(scores_there.get(), scores, 1e-5, 1e-5);
    }
  }
}

TEST(CudaScoreVectors, EqualTheHosts) {
  Queue& queue = host_queue();
  for (const int64_t rows : {1, 31, 65, 1000}) {
    for (const int64_t width : {1, 33, 256}) {
      std::vector<float> x = random_floats(static_cast<size_t>(rows * width), 6);
      const OnDevice<float> x_there(x);
      std::vector<float> mean(static_cast<size_t>(width));
      const OnDevice<float> mean_there(mean.size());
      longhaul::mean_rows(queue, view_of(x), view_of(mean));
      mean_rows(nullptr, x_there.data(), rows, width, mean_there.data());
      expect_close(mean_there.get(), mean, 1e-5, 1e-6);

      std::vector<float> turned = random_floats(x.size(), 7);
      const OnDevice<float> turned_there(turned);
      longhaul::add_transposed(queue, view_of(x), width, view_of(turned));
      add_transposed(nullptr, x_there.data(), rows, width, turned_there.data());
      EXPECT_EQ(turned_there.get(), turned);

      std::vector<float> pooled(x.size());
      const OnDevice<float> pooled_there(x.size());
      for (const Pooling pooling : {Pooling::kAverage, Pooling::kMax}) {
        longhaul::pool_scores(queue, view_of(x), 7, pooling, view_of(pooled));
        pool_scores(nullptr, x_there.data(), std::ssize(x), 7, pooling == Pooling::kMax,
                    pooled_there.data());
        expect_close(pooled_there.get(), pooled, 1e-6, 1e-7);
      }
      std::vector<float> seen = x;
      const OnDevice<float> seen_there(seen);
      const View<float> column = view_of(seen);
      longhaul::add_seen(queue, rows, {&column, 1});
      const SeenColumn column_there{seen_there.data(), std::ssize(seen)};
      add_seen(nullptr, rows, {&column_there, 1});
      EXPECT_EQ(seen_there.get(), seen);

      std::vector<float> query = random_floats(static_cast<size_t>(width), 8);
      const OnDevice<float> query_there(query);
      std::vector<float> scores(static_cast<size_t>(rows));
      const OnDevice<float> scores_there(scores.size());
      longhaul::mean_scores(queue, view_of(query), view_of(x), rows, static_cast<int>(width), 0.2f,
                            view_of(scores));
      mean_scores(nullptr, query_there.data(), x_there.data(), rows, static_cast<int>(width), 0.2f,
                  scores_there.data());
      expect_close(scores_there.get(), scores, 1e-5, 1e-5);
      longhaul::softmax_of(queue, view_of(scores));
      softmax_of(nullptr, scores_there.data(), rows);
      expect_close(scores_there.get(), scores, 1e-4, 1e-6);
    }
  }
  const int heads = 3, dim = 64;
  std::vector<float> q = random_floats(200 * heads * dim, 9);
  const OnDevice<float> q_there(q);
  std::vector<float> mean(dim);
  const OnDevice<float> mean_there(dim);
  longhaul::mean_query(queue, view_of(q), heads, dim, 2, 5, 133, view_of(mean));
  mean_query(nullptr, q_there.data(), heads, dim, 2, 5, 133, mean_there.data());
  expect_close(mean_there.get(), mean, 1e-5, 1e-6);
}

}  // namespace
}  // namespace longhaul::cuda
