#include <gtest/gtest.h>

#include "attention/easykv_oracle.h"
#include "attention/method_spec.h"
#include "attention/parts/passes.h"
#include "base/error.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// TOVA's rule in plain loops: the tokens of one layer after `tokens` tokens, cut to `capacity` at
/// each of `cuts` (numbers of tokens read).
std::vector<int64_t> kept_by_definition(const MethodRun& run, int layer, int64_t capacity,
                                        const std::vector<int64_t>& cuts) {
  std::vector<PlacedToken> kept;
  int64_t read = 0;
  for (const int64_t cut : cuts) {
    for (; read < cut; ++read) kept.push_back({read, read});
    if (static_cast<int64_t>(kept.size()) <= capacity) continue;
    std::vector<double> scores(kept.size());
    for (int head = 0; head < run.shape.heads; ++head) {
      const auto p = probabilities(run.shape, layer, run.inputs[static_cast<size_t>(layer)], head,
                                   {cut - 1, cut - 1}, kept);
      for (size_t j = 0; j < p.size(); ++j) scores[j] += p[j];
    }
    std::vector<PlacedToken> left;
    for (const int64_t i : best_by_definition(scores, capacity)) {
      left.push_back(kept[static_cast<size_t>(i)]);
    }
    kept = left;
  }
  std::vector<int64_t> tokens;
  for (const PlacedToken& token : kept) tokens.push_back(token.token);
  return tokens;
}

std::vector<int64_t> cuts_of(int64_t prompt, int64_t stride, int64_t generated) {
  std::vector<int64_t> cuts;
  for (int64_t at = stride; at < prompt; at += stride) cuts.push_back(at);
  for (int64_t at = prompt; at <= prompt + generated; ++at) cuts.push_back(at);
  return cuts;
}

TEST(Tova, ACoveringBudgetIsDense) {
  expect_dense_when_covering("tova:capacity=200");
  expect_dense_when_covering("tova:capacity=200,stride=9");
  expect_dense_when_covering("tova:mode=easykv,capacity=200");
  expect_dense_when_covering("tova:mode=easykv,capacity=200,stride=9,positions=cache");
}

TEST(Tova, KeepsWhatTheDefinitionKeepsWhateverTheChunk) {
  for (const int group : {1, 2, 3, 8}) {
    for (const int64_t stride : {1, 16, 256}) {
      for (const int chunk : {1, 5, 16, 200}) {
        SCOPED_TRACE(testing::Message()
                     << "group " << group << " stride " << stride << " chunk " << chunk);
        const ModelShape shape = small_shape(2, 2, group, 32);
        const auto tova =
            MethodSpec::parse(fmt::format("tova:capacity=24,stride={}", stride)).make(shape);
        MethodRun run(shape, *tova, DType::F32, 80);
        run.prompt(75, chunk);
        run.decode(5);
        for (int layer = 0; layer < 2; ++layer) {
          const auto want = kept_by_definition(run, layer, 24, cuts_of(75, stride, 5));
          EXPECT_EQ(tokens_of(run.store, layer, 0), want);
          EXPECT_EQ(tokens_of(run.store, layer, 1), want);
        }
      }
    }
  }
}

TEST(Tova, TheEasyKvFormKeepsWhatItsDefinitionKeeps) {
  for (const int group : {1, 2, 3, 8}) {
    for (const int64_t n : {30, 38, 39, 90, 91}) {
      for (const bool in_list : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << "group " << group << " tokens " << n << " in list " << in_list);
        const ModelShape shape = small_shape(2, 2, group, 32);
        const auto tova =
            MethodSpec::parse(fmt::format("tova:mode=easykv,capacity=30,stride=8,recent=6,"
                                          "positions={}",
                                          in_list ? "cache" : "absolute"))
                .make(shape);
        MethodRun run(shape, *tova, DType::F32, n + 3);
        run.prompt(n, group == 2 ? 5 : 200);
        for (int layer = 0; layer < 2; ++layer) {
          const EasyKv how{.in_list = in_list};
          const auto want = easykv_by_definition(
              run, layer, 0, shape.heads, n, how, [&](std::vector<CountedToken>& kept) {
                evict_lowest(kept, how.stride, how.sink, how.recent, &CountedToken::last);
              });
          EXPECT_EQ(tokens_of(run.store, layer, 0), want);
          EXPECT_EQ(tokens_of(run.store, layer, 1), want);
        }
        const int64_t size = run.store.length(0, 0);
        run.decode(3);
        EXPECT_EQ(run.store.length(0, 0), size + 3);  // generating evicts nothing
      }
    }
  }
}

TEST(Tova, MemoryStaysAtTheCapacityThroughSeveralTurns) {
  const ModelShape shape = small_shape(2, 2, 3, 32);
  const auto tova = MethodSpec::parse("tova:capacity=24,stride=8").make(shape);
  MethodRun run(shape, *tova, DType::F32, 200);
  run.prompt(24, 64);
  EXPECT_TRUE(tova->can_rewind());
  for (int turn = 0; turn < 3; ++turn) {
    run.prompt(33, 64);
    run.decode(4);
    EXPECT_EQ(run.store.length(0, 0), 24);
    EXPECT_EQ(run.store.length(1, 1), 24);
  }
  EXPECT_FALSE(tova->can_rewind());
}

TEST(Tova, TheForecastBoundsTheStoreAtItsPeak) {
  const ModelShape shape = small_shape(2, 2, 3, 32);
  const auto tova = MethodSpec::parse("tova:capacity=100,stride=90").make(shape);
  MethodRun run(shape, *tova, DType::F32, 800);
  const size_t bound = tova->most_kv_bytes(run.store.layout(), 800, 40);
  EXPECT_LT(bound, run.store.layout().bytes_for(800) / 3);
  for (const Pass& pass : tova->prepare({0, 800, 0, 40})) run.run(pass.begin, pass, run.store);
  EXPECT_EQ(run.most_bytes, bound);
}

TEST(Tova, RefusesOptionsThatDoNotFit) {
  for (const char* spec : {"tova:capacity=0", "tova:stride=0", "tova:window=3"}) {
    EXPECT_THROW(MethodSpec::parse(spec), UserError) << spec;
  }
  EXPECT_THROW(
      MethodSpec::parse("tova:mode=easykv,capacity=9,recent=6").make(small_shape(1, 1, 1, 32)),
      UserError);
}

TEST(StridePasses, TheChunkCutsStridesAndNothingElse) {
  const auto plan = stride_passes({0, 50, 0, 12}, 7, 20);
  std::vector<int64_t> ends, strides;
  int64_t at = 0;
  for (const Pass& pass : plan) {
    EXPECT_EQ(pass.begin, at);
    at += pass.count;
    ends.push_back(at);
    if (ends_stride(pass, 7, 20)) strides.push_back(at);
  }
  EXPECT_EQ(ends, (std::vector<int64_t>{7, 19, 27, 39, 47, 50}));
  EXPECT_EQ(strides, (std::vector<int64_t>{27, 47}));
}

}  // namespace
}  // namespace longhaul
