#include <gtest/gtest.h>

#include "attention/eviction_oracle.h"
#include "attention/method_spec.h"
#include "attention/methods/pyramidkv/pyramid_budget.h"
#include "base/error.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// SnapKV's rule in plain loops: the tokens that a KV head keeps of a prompt.
std::vector<int64_t> kept_by_definition(const MethodRun& run, int layer, int first_head,
                                        int head_count, int64_t tokens, int64_t budget,
                                        int64_t window, int kernel, bool average) {
  const int64_t early = tokens - window;
  std::vector<double> paid(static_cast<size_t>(early));
  for (int head = first_head; head < first_head + head_count; ++head) {
    for (int64_t row = early; row < tokens; ++row) {
      const auto p = probabilities(run.shape, layer, run.inputs[static_cast<size_t>(layer)], head,
                                   {row, row}, tokens_in_place(row + 1));
      for (size_t j = 0; j < paid.size(); ++j) paid[j] += p[j];
    }
  }
  std::vector<double> scores(paid.size());
  for (int64_t j = 0; j < early; ++j) {
    double sum = 0, top = 0;
    for (int64_t i = std::max<int64_t>(0, j - kernel / 2); i <= std::min(early - 1, j + kernel / 2);
         ++i) {
      sum += paid[static_cast<size_t>(i)];
      top = std::max(top, paid[static_cast<size_t>(i)]);
    }
    scores[static_cast<size_t>(j)] = average ? sum : top;
  }
  std::vector<int64_t> kept = best_by_definition(scores, budget - window);
  for (int64_t row = early; row < tokens; ++row) kept.push_back(row);
  return kept;
}

TEST(SnapKv, ACoveringBudgetIsDense) {
  expect_dense_when_covering("snapkv:capacity=200");
  expect_dense_when_covering("snapkv:capacity=200,per=query_head");
  expect_dense_when_covering("pyramidkv:capacity=200");
}

TEST(SnapKv, KeepsWhatTheDefinitionKeeps) {
  struct Choice {
    const char* options;
    int kernel;
    bool average;
  };
  for (const Choice& c : {Choice{"pooling=avg,kernel=5", 5, true},
                          Choice{"pooling=max,kernel=7", 7, false}, Choice{"kernel=1", 1, true}}) {
    for (const int group : {1, 2, 3, 8}) {
      for (const int chunk : {1, 10, 33, 200}) {  // the window lies in one chunk or in several
        SCOPED_TRACE(testing::Message() << c.options << " group " << group << " chunk " << chunk);
        const ModelShape shape = small_shape(2, 2, group, 32);
        const auto snap =
            MethodSpec::parse(fmt::format("snapkv:capacity=40,window=12,{}", c.options))
                .make(shape);
        MethodRun run(shape, *snap, DType::F32, 131);
        run.prompt(131, chunk);
        for (int layer = 0; layer < 2; ++layer) {
          for (int head = 0; head < 2; ++head) {
            EXPECT_EQ(tokens_of(run.store, layer, head),
                      kept_by_definition(run, layer, head * group, group, 131, 40, 12, c.kernel,
                                         c.average));
          }
        }
      }
    }
  }
}

TEST(SnapKv, QueryHeadsMayChooseForThemselves) {
  const ModelShape shape = small_shape(1, 2, 3, 32);
  const auto snap =
      MethodSpec::parse("snapkv:capacity=30,window=8,kernel=3,per=query_head").make(shape);
  MethodRun run(shape, *snap, DType::F32, 90);
  run.prompt(90, 64);
  ASSERT_EQ(run.store.layout().heads[0], 6);
  for (int head = 0; head < 6; ++head) {
    EXPECT_EQ(tokens_of(run.store, 0, head),
              kept_by_definition(run, 0, head, 1, 90, 30, 8, 3, true));
  }
}

/// One query decides in both methods. Only SnapKV keeps that row regardless of its own attention.
TEST(SnapKv, WithAWindowOfOneAndNoPoolingItIsTovaOnceForAPrompt) {
  for (const size_t group : {1u, 3u}) {
    for (const bool ranks : {true, false}) {
      SCOPED_TRACE(testing::Message() << "group " << group << " newest ranks " << ranks);
      const ModelShape shape = small_shape(2, 1, static_cast<int>(group), 32);
      const auto kept = [&](const char* spec) {
        const auto method = MethodSpec::parse(spec).make(shape);
        MethodRun run(shape, *method, DType::F32, 90);
        // The newest key is along its own queries, or opposite to them.
        for (LayerInputs& in : run.inputs) {
          for (size_t t = 0; t < 32; ++t) {
            float sum = 0;
            for (size_t h = 0; h < group; ++h) sum += in.q[(89 * group + h) * 32 + t];
            in.k[89 * 32 + t] = ranks ? sum : -sum;
          }
        }
        run.prompt(90, 40);
        return std::vector{tokens_of(run.store, 0, 0), tokens_of(run.store, 1, 0)};
      };
      const auto snap = kept("snapkv:capacity=20,window=1,kernel=1");
      const auto tova = kept("tova:capacity=20,stride=1000");
      for (size_t layer = 0; layer < 2; ++layer) {
        ASSERT_EQ(tova[layer].size(), 20u);
        ASSERT_EQ(snap[layer].back(), 89);
        if (ranks) {
          EXPECT_EQ(snap[layer], tova[layer]);
        } else {  // TOVA keeps an earlier row instead of the newest
          EXPECT_LT(tova[layer].back(), 89);
          EXPECT_TRUE(std::includes(tova[layer].begin(), tova[layer].end(), snap[layer].begin(),
                                    snap[layer].end() - 1));
        }
      }
    }
  }
}

TEST(SnapKv, GeneratedTokensSeeTheKeptRowsAndEachOther) {
  const ModelShape shape = small_shape(2, 1, 3, 32);
  const auto snap = MethodSpec::parse("snapkv:capacity=30,window=8").make(shape);
  MethodRun run(shape, *snap, DType::F32, 97);
  run.prompt(90, 64);
  std::vector<std::vector<int64_t>> kept{tokens_of(run.store, 0, 0), tokens_of(run.store, 1, 0)};
  run.decode(7);
  for (int layer = 0; layer < 2; ++layer) {
    const size_t l = static_cast<size_t>(layer);
    EXPECT_EQ(run.store.length(layer, 0), 37);  // generating evicts nothing
    const auto want =
        attention_by_definition(shape, layer, run.inputs[l], 97, [&](int64_t row, int64_t key) {
          return row < 90 || key >= 90 || std::binary_search(kept[l].begin(), kept[l].end(), key);
        });
    EXPECT_LT(largest_difference(run.out[l], want), 2e-5);
  }
}

TEST(SnapKv, EveryPromptIsCompressedAndKeepsItsEnd) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto snap = MethodSpec::parse("snapkv:capacity=30,window=8").make(shape);
  MethodRun run(shape, *snap, DType::F32, 200);
  EXPECT_TRUE(snap->can_rewind());
  run.prompt(30, 16);
  EXPECT_TRUE(snap->can_rewind());  // rewinding is possible until something is evicted
  EXPECT_EQ(run.store.length(0, 0), 30);
  run.decode(5);
  EXPECT_EQ(run.store.length(0, 0), 35);
  run.prompt(60, 16);
  EXPECT_FALSE(snap->can_rewind());
  EXPECT_EQ(run.store.length(1, 1), 30);
  run.prompt(3, 16);  // shorter than the window
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 2; ++head) {
      const auto tokens = tokens_of(run.store, layer, head);
      ASSERT_EQ(tokens.size(), 30);
      EXPECT_EQ((std::vector<int64_t>(tokens.end() - 3, tokens.end())),
                (std::vector<int64_t>{95, 96, 97}));
    }
  }
}

TEST(SnapKv, APromptThatWasGivenUpIsNotCompressed) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto snap = MethodSpec::parse("snapkv:capacity=30,window=8").make(shape);
  MethodRun run(shape, *snap, DType::F32, 100);
  const auto passes = snap->prepare({0, 80, 0, 40});
  run.pass(0, passes[0].count, false);
  snap->finish(run.streams, passes[0]);
  run.pass(40, 1, true);
  snap->finish(run.streams, {.count = 1, .phase = Phase::kDecode});
  EXPECT_EQ(run.store.length(0, 0), 41);
  run.done = 41;
  run.prompt(20, 40);
  EXPECT_EQ(run.store.length(0, 0), 30);
}

TEST(SnapKv, LayersWithTheModelsOwnWindowForgetNothing) {
  ModelShape shape = small_shape(2, 1, 2, 32);
  shape.window = {20, 0};
  const auto snap = MethodSpec::parse("snapkv:capacity=30,window=8").make(shape);
  MethodRun run(shape, *snap, DType::F32, 100);
  run.prompt(95, 40);
  run.decode(5);
  EXPECT_EQ(run.store.length(0, 0), 100);
  EXPECT_EQ(run.store.length(1, 0), 35);
  const auto want = attention_by_definition(shape, 0, run.inputs[0], 100,
                                            [](int64_t i, int64_t j) { return i - j < 20; });
  EXPECT_LT(largest_difference(run.out[0], want), 2e-5);
}

TEST(PyramidKv, SchedulesAsPublished) {
  const PyramidBudget wide{32, 2048, 32, 20};
  EXPECT_EQ(wide.scheduled(0, 16384), 3932);
  EXPECT_EQ(wide.scheduled(1, 16384), 3809);
  EXPECT_EQ(wide.scheduled(31, 16384), 119);
  int64_t sum = 0;
  for (int layer = 0; layer < 32; ++layer) sum += wide.scheduled(layer, 16384);
  EXPECT_EQ(sum, 64816);
  EXPECT_EQ(wide.scheduled(0, 3500), 3468);
  EXPECT_EQ(wide.scheduled(31, 3500), 585);
  const PyramidBudget narrow{32, 128, 8, 20};
  EXPECT_EQ(narrow.scheduled(0, 4096), 234);
  EXPECT_EQ(narrow.scheduled(1, 4096), 227);
  EXPECT_EQ(narrow.scheduled(30, 4096), 24);
  EXPECT_EQ(narrow.scheduled(31, 4096), 17);
  EXPECT_EQ((PyramidBudget{1, 128, 8, 20}.scheduled(0, 4096)), 120);
}

TEST(PyramidKv, ShortContextsKeepAllOrTheSame) {
  const PyramidBudget pyramid{32, 2048, 32, 20};
  EXPECT_EQ(pyramid.kept(31, 2047), 2047);
  EXPECT_EQ(pyramid.kept(0, 3500), 2048);
  EXPECT_EQ(pyramid.kept(31, 3500), 2048);
  EXPECT_EQ(pyramid.kept(31, 16384), 119 + 32);
}

TEST(PyramidKv, KeepsWhatTheDefinitionKeepsInEveryLayer) {
  const ModelShape shape = small_shape(4, 2, 2, 32);
  const auto method = MethodSpec::parse("pyramidkv:capacity=30,window=8,beta=4").make(shape);
  MethodRun run(shape, *method, DType::F32, 133);
  run.prompt(130, 50);
  // 22 on average, in steps of (39 - 5) / 3.
  const int64_t kept[] = {39 + 8, 28 + 8, 17 + 8, 6 + 8};
  for (int layer = 0; layer < 4; ++layer) {
    for (int head = 0; head < 2; ++head) {
      EXPECT_EQ(tokens_of(run.store, layer, head),
                kept_by_definition(run, layer, head * 2, 2, 130, kept[layer], 8, 7, false));
    }
  }
  run.decode(3);
  EXPECT_EQ(run.store.length(3, 0), 17);
}

TEST(SnapKv, RefusesOptionsThatDoNotFit) {
  const ModelShape shape = small_shape(1, 1, 1, 32);
  for (const char* spec :
       {"snapkv:capacity=32", "snapkv:window=64,capacity=60", "snapkv:kernel=4",
        "pyramidkv:capacity=8", "pyramidkv:kernel=2", "snapkv:kernel=0", "snapkv:per=layer"}) {
    EXPECT_THROW(MethodSpec::parse(spec).make(shape), UserError) << spec;
  }
}

}  // namespace
}  // namespace longhaul
