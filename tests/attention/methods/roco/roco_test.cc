#include <gtest/gtest.h>

#include <cmath>

#include "attention/easykv_oracle.h"
#include "base/error.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// RoCo's rule: of the steadiest unprotected tokens, those with the lowest means are evicted.
void evict_by_definition(std::vector<CountedToken>& kept, const EasyKv& how) {
  const int64_t size = std::ssize(kept);
  std::vector<std::pair<double, int64_t>> by_deviation;
  for (int64_t i = how.sink; i < size - 10; ++i) {
    const CountedToken& token = kept[static_cast<size_t>(i)];
    const double mean = token.sum / token.seen;
    by_deviation.push_back({std::sqrt(std::max(0.0, token.squares / token.seen - mean * mean)), i});
  }
  std::sort(by_deviation.begin(), by_deviation.end());
  const int64_t feasible = std::max(how.budget + how.stride - how.recent - how.sink, how.stride);
  by_deviation.resize(static_cast<size_t>(std::min(feasible, std::ssize(by_deviation))));
  std::vector<std::pair<double, int64_t>> by_mean;
  for (const auto& [deviation, i] : by_deviation) {
    const CountedToken& token = kept[static_cast<size_t>(i)];
    by_mean.push_back({token.sum / token.seen, i});
  }
  std::sort(by_mean.begin(), by_mean.end());
  std::vector<int64_t> out;
  for (int64_t i = 0; i < how.stride; ++i) out.push_back(by_mean[static_cast<size_t>(i)].second);
  std::sort(out.rbegin(), out.rend());
  for (const int64_t i : out) kept.erase(kept.begin() + i);
}

TEST(Roco, ACoveringBudgetIsDense) {
  expect_dense_when_covering("roco:budget=200");
  expect_dense_when_covering("roco:budget=200,stride=7,positions=cache");
}

TEST(Roco, KeepsWhatTheDefinitionKeepsWhateverTheChunk) {
  for (const int group : {1, 2, 3, 8}) {
    for (const int64_t stride : {1, 8, 16}) {
      for (const int chunk : {5, 200}) {
        for (const bool in_list : {false, true}) {
          SCOPED_TRACE(testing::Message() << "group " << group << " stride " << stride << " chunk "
                                          << chunk << " in list " << in_list);
          // With a small feasible set, deviations decide.
          const EasyKv how{.budget = 40, .stride = stride, .recent = 20, .in_list = in_list};
          const ModelShape shape = small_shape(2, 2, group, 32);
          const auto roco =
              MethodSpec::parse(fmt::format("roco:budget=40,stride={},recent=20,positions={}",
                                            stride, in_list ? "cache" : "absolute"))
                  .make(shape);
          MethodRun run(shape, *roco, DType::F32, 103);
          run.prompt(100, chunk);
          for (int layer = 0; layer < 2; ++layer) {
            for (int head = 0; head < 2; ++head) {
              EXPECT_EQ(tokens_of(run.store, layer, head),
                        easykv_by_definition(run, layer, head * group, (head + 1) * group, 100, how,
                                             [&](std::vector<CountedToken>& kept) {
                                               evict_by_definition(kept, how);
                                             }));
            }
          }
          const int64_t size = run.store.length(0, 0);
          run.decode(3);
          EXPECT_EQ(run.store.length(0, 0), size + 3);  // generating evicts nothing
        }
      }
    }
  }
}

TEST(Roco, CountsHowManyRowsCouldSeeAKey) {
  const ModelShape shape = small_shape(1, 1, 3, 32);
  const auto roco = MethodSpec::parse("roco:budget=30,stride=8,recent=6").make(shape);
  MethodRun run(shape, *roco, DType::F32, 60);
  const auto passes = roco->prepare({0, 60, 0, 200});
  ASSERT_EQ(passes.front().count, 28);  // 60 - 4 * 8
  for (size_t i = 0; i < 2; ++i) run.run(passes[i].begin, passes[i], run.store);
  run.pass(passes[2].begin, passes[2].count, false);  // no stride ends here: nothing is evicted
  // Two strides: the first fills the list, and counting begins with the second.
  const auto seen = host(run.store.column(0, 0, "seen"));
  ASSERT_EQ(seen.size(), 44u);
  for (int64_t row = 0; row < 44; ++row) {
    EXPECT_EQ(seen[static_cast<size_t>(row)], row < 36 ? 8 : 44 - row);
  }
  const auto sums = host(run.store.column(0, 0, "attention"));
  EXPECT_NEAR(std::accumulate(sums.begin(), sums.end(), 0.0), 3 * 8, 1e-4);
}

TEST(Roco, SteadyAttentionIsJudgedByItsMean) {
  ModelShape shape = small_shape(1, 1, 1, 32);
  std::fill(shape.rope.inverse_frequency.begin(), shape.rope.inverse_frequency.end(), 0.0);
  const auto roco = MethodSpec::parse("roco:budget=40,stride=8,recent=5,sink=2").make(shape);
  MethodRun run(shape, *roco, DType::F32, 56);
  LayerInputs& in = run.inputs[0];
  std::fill(in.q.begin(), in.q.end(), 0.0f);
  std::fill(in.k.begin(), in.k.end(), 0.0f);
  for (size_t token = 0; token < 56; ++token) {
    in.q[token * 32] = 1 / shape.scale;  // every row has equal logits for key j
    in.k[token * 32] = token < 48 ? static_cast<float>(std::abs(20 - static_cast<int>(token)))
                                  : -40.0f;  // new keys have no influence
  }
  run.prompt(56, 64);
  const auto kept = tokens_of(run.store, 0, 0);
  ASSERT_EQ(kept.size(), 48u);
  for (int64_t token = 17; token <= 23; ++token) {
    EXPECT_EQ(std::count(kept.begin(), kept.end(), token), 0) << token;
  }
}

TEST(Roco, RefusesABudgetBelowSinkAndRecent) {
  const ModelShape shape = small_shape(1, 1, 1, 32);
  EXPECT_THROW(MethodSpec::parse("roco:budget=9,recent=6").make(shape), UserError);
  EXPECT_THROW(MethodSpec::parse("roco:budget=20,stride=200").make(shape), UserError);
}

}  // namespace
}  // namespace longhaul
