#include <gtest/gtest.h>

#include "attention/easykv_oracle.h"
#include "attention/method_spec.h"
#include "attention/parts/stride_budget.h"
#include "base/error.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// H2O's sums under EasyKV's regime, for one KV head and one prompt.
std::vector<int64_t> streamed_by_definition(const MethodRun& run, int layer, int kv_head, int64_t n,
                                            const EasyKv& how) {
  const int group = run.shape.heads / run.shape.kv_heads[static_cast<size_t>(layer)];
  return easykv_by_definition(run, layer, kv_head * group, (kv_head + 1) * group, n, how,
                              [&](std::vector<CountedToken>& kept) {
                                evict_lowest(kept, how.stride, how.sink, how.recent,
                                             &CountedToken::sum);
                              });
}

TEST(H2o, ACoveringBudgetIsDense) {
  expect_dense_when_covering("h2o:budget=200");
  expect_dense_when_covering("h2o:budget=200,stride=7");
  expect_dense_when_covering("h2o:budget=200,mode=oneshot");
  expect_dense_when_covering("h2o:budget=200,positions=cache");
}

TEST(H2o, StreamKeepsWhatTheDefinitionKeepsWhateverTheChunk) {
  for (const int group : {1, 2, 3, 8}) {
    for (const int64_t stride : {1, 7, 16}) {
      for (const int chunk : {1, 5, 200}) {
        for (const int64_t n : {36, 90, 91}) {
          SCOPED_TRACE(testing::Message() << "group " << group << " stride " << stride << " chunk "
                                          << chunk << " tokens " << n);
          const ModelShape shape = small_shape(2, 2, group, 32);
          const auto h2o =
              MethodSpec::parse(fmt::format("h2o:budget=30,stride={},recent=6", stride))
                  .make(shape);
          MethodRun run(shape, *h2o, DType::F32, n + 3);
          run.prompt(n, chunk);
          for (int layer = 0; layer < 2; ++layer) {
            for (int head = 0; head < 2; ++head) {
              EXPECT_EQ(tokens_of(run.store, layer, head),
                        streamed_by_definition(run, layer, head, n, {.stride = stride}));
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

TEST(H2o, ReadsThePromptsFirstTokensAtOnceThenStrides) {
  struct Example {
    const char* method;
    int64_t tokens, first, stride;
  };
  // EasyKV's own schedule: whole strides end with the prompt.
  for (const auto& [method, tokens, first, stride] :
       {Example{"h2o:budget=1024,stride=256", 5000, 904, 256},
        Example{"h2o:budget=1024,stride=256", 4096, 1024, 256},
        Example{"h2o:budget=100,stride=1", 1000, 100, 1}}) {
    const auto h2o = MethodSpec::parse(method).make(small_shape(1, 1, 1, 32));
    const std::vector<Pass> passes = h2o->prepare({0, tokens, 0, 1024});
    ASSERT_EQ(std::ssize(passes), 1 + (tokens - first) / stride);
    EXPECT_EQ(passes.front().count, first);
    for (const Pass& pass : std::span(passes).subspan(1)) EXPECT_EQ(pass.count, stride);
  }
}

TEST(H2o, PositionsInTheListKeepWhatTheDefinitionKeeps) {
  for (const int chunk : {3, 200}) {
    const ModelShape shape = small_shape(2, 2, 3, 32);
    const auto h2o =
        MethodSpec::parse("h2o:budget=30,stride=8,recent=6,positions=cache").make(shape);
    MethodRun run(shape, *h2o, DType::F32, 90);
    run.prompt(90, chunk);
    for (int layer = 0; layer < 2; ++layer) {
      const auto want = streamed_by_definition(run, layer, 1, 90, {.in_list = true});
      EXPECT_EQ(tokens_of(run.store, layer, 1), want);
      EXPECT_NE(want, streamed_by_definition(run, layer, 1, 90, {}));
    }
  }
}

TEST(H2o, TheForecastBoundsTheStreamedListsAtTheirPeak) {
  const ModelShape shape = small_shape(1, 2, 2, 32);
  const auto h2o = MethodSpec::parse("h2o:budget=100,stride=70").make(shape);
  MethodRun run(shape, *h2o, DType::F32, 2000);
  const size_t bound = h2o->most_kv_bytes(run.store.layout(), 2000, 64);
  EXPECT_EQ(bound, h2o->most_kv_bytes(run.store.layout(), 1 << 20, 64));
  EXPECT_LT(bound, run.store.layout().bytes_for(2000) / 4);
  for (const int64_t tokens : {900, 69, 69, 500, 1, 139, 300}) {
    const int64_t begin = run.done;
    for (const Pass& pass : h2o->prepare({begin, tokens, 0, 64})) {
      run.run(begin + pass.begin, pass, run.store);
    }
    run.done += tokens;
  }
  EXPECT_LE(run.most_bytes, bound);
  EXPECT_GT(run.most_bytes, bound / 2);
}

TEST(H2o, SumsHoldAllAttentionThatWasCounted) {
  const ModelShape shape = small_shape(1, 2, 3, 32);
  const auto h2o = MethodSpec::parse("h2o:mode=oneshot,budget=100").make(shape);
  MethodRun run(shape, *h2o, DType::F32, 80);
  run.prompt(80, 30);
  for (int head = 0; head < 2; ++head) {
    const auto sums = host(run.store.column(0, head, "attention"));
    EXPECT_NEAR(std::accumulate(sums.begin(), sums.end(), 0.0), 3 * 80, 1e-3);
  }
}

/// With uniform attention the newest keys were seen by the fewest rows. In a stream, the rows
/// before the first eviction tie with each other, and of equal sums the earlier row is kept.
TEST(H2o, UniformAttentionForgetsWhatLiesBeforeTheRecentRows) {
  for (const int chunk : {5, 200}) {
    for (const auto& [spec, first] :
         {std::pair<const char*, int64_t>{"h2o:budget=30,stride=8,recent=6", 34 - 6},  // 34 + 7 * 8
          {"h2o:mode=oneshot,budget=30,recent=6", 30 - 6}}) {
      SCOPED_TRACE(testing::Message() << spec << " chunk " << chunk);
      const ModelShape shape = small_shape(2, 2, 3, 32);
      const auto h2o = MethodSpec::parse(spec).make(shape);
      MethodRun run(shape, *h2o, DType::F32, 90);
      for (LayerInputs& in : run.inputs) std::fill(in.q.begin(), in.q.end(), 0.0f);
      run.prompt(90, chunk);
      std::vector<int64_t> want(static_cast<size_t>(first + 6));
      std::iota(want.begin(), want.begin() + first, 0);
      std::iota(want.begin() + first, want.end(), 84);
      for (int layer = 0; layer < 2; ++layer) {
        for (int head = 0; head < 2; ++head) EXPECT_EQ(tokens_of(run.store, layer, head), want);
      }
    }
  }
}

TEST(H2o, OneshotKeepsTheLargestSumsAndTheEnd) {
  for (const int group : {1, 2, 3, 8}) {
    for (const int chunk : {1, 33, 200}) {
      const ModelShape shape = small_shape(2, 2, group, 32);
      const auto h2o = MethodSpec::parse("h2o:mode=oneshot,budget=30,recent=6").make(shape);
      MethodRun run(shape, *h2o, DType::F32, 90);
      run.prompt(90, chunk);
      for (int head = 0; head < 2; ++head) {
        std::vector<double> sums(90);
        for (int64_t row = 0; row < 90; ++row) {
          for (int h = head * group; h < (head + 1) * group; ++h) {
            const auto p =
                probabilities(shape, 1, run.inputs[1], h, {row, row}, tokens_in_place(row + 1));
            for (size_t j = 0; j < p.size(); ++j) sums[j] += p[j];
          }
        }
        sums.resize(84);
        std::vector<int64_t> want = best_by_definition(sums, 24);
        for (int64_t row = 84; row < 90; ++row) want.push_back(row);
        EXPECT_EQ(tokens_of(run.store, 1, head), want);
      }
    }
  }
}

TEST(H2o, NoRecentRowsAreNoneAndAutoIsAShare) {
  const auto recent = [](const char* spec) {
    return MethodSpec::parse(spec).make_method(small_shape(1, 1, 1, 32))->plan(0, 0, 0).keep.recent;
  };
  EXPECT_EQ(recent("h2o"), (2048 + 256) / 10);
  EXPECT_EQ(recent("h2o:recent=auto,budget=90,stride=10"), 10);
  EXPECT_EQ(recent("h2o:recent=0"), 0);
  const ModelShape shape = small_shape(1, 1, 1, 32);
  const auto oneshot = MethodSpec::parse("h2o:mode=oneshot,budget=5,recent=0").make(shape);
  MethodRun run(shape, *oneshot, DType::F32, 60);
  run.prompt(60, 60);
  std::vector<double> sums(60);
  for (int64_t row = 0; row < 60; ++row) {
    const auto p = probabilities(shape, 0, run.inputs[0], 0, {row, row}, tokens_in_place(row + 1));
    for (size_t j = 0; j < p.size(); ++j) sums[j] += p[j];
  }
  EXPECT_EQ(tokens_of(run.store, 0, 0), best_by_definition(sums, 5));
}

TEST(H2o, SeveralTurnsStayWithinBudgetAndStride) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto h2o = MethodSpec::parse("h2o:budget=30,stride=8,recent=6").make(shape);
  MethodRun run(shape, *h2o, DType::F32, 300);
  for (const int64_t tokens : {61, 3, 40, 2, 5, 17}) {
    run.prompt(tokens, 16);
    EXPECT_GE(run.store.length(0, 0), 30);
    EXPECT_LE(run.store.length(0, 0), 30 + 8);
    const auto kept = tokens_of(run.store, 1, 1);
    EXPECT_EQ((std::vector<int64_t>(kept.begin(), kept.begin() + 4)),
              (std::vector<int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(kept[kept.size() - 6], run.done - 6);
    run.decode(5);
  }
}

TEST(H2o, RefusesABudgetBelowSinkAndRecent) {
  const ModelShape shape = small_shape(1, 1, 1, 32);
  for (const char* spec :
       {"h2o:budget=20,stride=200", "h2o:budget=9,recent=6", "h2o:mode=oneshot,budget=31"}) {
    EXPECT_THROW(MethodSpec::parse(spec).make(shape), UserError) << spec;
  }
}

}  // namespace
}  // namespace longhaul
