// How far back a method says that rows see, against the positions that it shows the model. A new
// method adds a row to the table.

#include <gtest/gtest.h>

#include <set>

#include "attention/method_run.h"
#include "attention/test_name.h"

namespace longhaul {
namespace {

using testing_support::MethodRun;
using testing_support::small_shape;

constexpr int64_t kTokens = 700;
constexpr int64_t kAll = int64_t{1} << 40;

struct Case {
  const char* spec;
  int64_t reach = kAll;  ///< in passes of 64 rows, however long the context
};

/// Settings that forget, choose or move keys within kTokens, where the method does.
constexpr Case kCases[] = {
    {"dense"},
    {"streamingllm:recent=60", 4 + 60 + 64},
    {"lminfinite:local=60,limit=60", 60},
    {"lminfinite:local=60,limit=90", 90},
    {"lminfinite:local=60,global=0", 60},
    {"ntk", 4096},
    {"ntk:mode=hf", 4096},
    {"ntk:mode=fixed"},
    {"trianglemix:start_layer=1,window=60"},
    {"triangle:window=60"},
    {"duo:sparsity=1,recent=60"},
    {"reattention:local=256,chunk=100,span=8,clip=8", 32 + 256 + 64},
    {"reattention:local=256,chunk=100,span=8,clip=8,positions=original"},
    {"citrus:cache=standard,k=200,chunk=150", 200 + 150 + 512},
    {"citrus:cache=shared,k=200,chunk=150", 200 + 150 + 512},
    {"citrus:k=200,chunk=600", 200 + 2 * 600},
    {"infllm:n_init=8,n_local=64,block=16,topk=2,chunk=32,cached=4", 64},
    {"ltri:n_init=8,n_local=64,block=16,topk=2,chunk=32,cached=4", 64},
    {"snapkv:capacity=60,window=8"},
    {"pyramidkv:capacity=60,window=8"},
    {"tova:capacity=60,stride=20"},
    {"tova:mode=easykv,capacity=60,stride=20"},
    {"tova:mode=easykv,capacity=60,stride=20,positions=cache", 100},
    {"h2o:budget=60,stride=20"},
    {"h2o:budget=60,stride=20,positions=cache", 100},
    {"roco:budget=60,stride=20"},
    {"roco:budget=60,stride=20,positions=cache", 100},
    {"minference:dense_below=0"},
    {"flexprefill:dense_below=0"},
    {"xattention:dense_below=0"},
    {"fastgen:threshold=0.5"},
};

TEST(Reach, EveryMethodOfTheRegistryHasARow) {
  std::set<std::string_view> tested;
  for (const Case& c : kCases) tested.insert(MethodSpec::parse(c.spec).info().name);
  for (const MethodInfo& info : attention_methods())
    EXPECT_TRUE(tested.count(info.name)) << info.name;
}

/// From the task's last row to the first key of the segment that it sees, both counted.
int64_t span_of(const AttendTask& task, const KeySegment& keys) {
  const int64_t first = keys.position + (keys.indexed_positions ? keys.index[0] : 0);
  const int64_t span = task.row_position + task.row_count - first;
  return keys.visible == Visibility::kWindow ? std::min(span, keys.window) : span;
}

class Reach : public ::testing::TestWithParam<Case> {};

TEST_P(Reach, IsTheFarthestPositionThatRowsOfAPromptAreShown) {
  const ModelShape shape = small_shape(2, 2, 3, 32);  // trained for 4,096
  const auto method = MethodSpec::parse(GetParam().spec).make(shape);
  EXPECT_EQ(method->reach(kAll, 64), GetParam().reach);
  EXPECT_EQ(method->reach(50, 64), 50);

  MethodRun run(shape, *method, DType::F32, kTokens);
  int64_t farthest = 0;
  run.workspace.observer = [&](const LayerStep&, std::span<const AttendTask> tasks) {
    for (const AttendTask& task : tasks) {
      for (const KeySegment& keys : task.segments) {
        // Other keys were rotated at their places in the text, or stand at one distance.
        const bool moved = keys.rotate && keys.query == 0 && keys.count > 0;
        if (moved) farthest = std::max(farthest, span_of(task, keys));
      }
    }
  };
  run.prompt(kTokens, 64);
  EXPECT_LE(farthest, method->reach(kTokens, 64));
  if (farthest > 0) {
    EXPECT_GE(2 * farthest, method->reach(kTokens, 64)) << "a bound that says something";
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Reach, ::testing::ValuesIn(kCases), [](const auto& tested) {
  return testing_support::test_name(tested.param.spec);
});

TEST(Reach, OfKeysAtOneDistanceIsThatDistance) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto reach = [&](const char* spec) {
    return MethodSpec::parse(spec).make(shape)->reach(20000, 1024);
  };
  EXPECT_EQ(reach("lminfinite"), 4096) << "as published, for models of 4,096 tokens";
  EXPECT_EQ(reach("lminfinite:local=100,limit=9000"), 9000);
  EXPECT_EQ(reach("infllm"), 4096);
  EXPECT_EQ(reach("infllm:fidelity=paper"), 4096);
  EXPECT_EQ(reach("ltri:n_local=9000"), 9000);
}

TEST(Reach, OfTheDefaultsIsWithin4096TokensWhereTheMethodMovesKeys) {
  const ModelShape shape = small_shape(2, 2, 2, 64);
  std::set<std::string_view> within;
  for (const MethodInfo& info : attention_methods()) {
    if (!info.needs.empty()) continue;
    const auto method = MethodSpec::parse(info.name).make(shape);
    if (method->reach(20000, 1024) <= shape.trained_context) within.insert(info.name);
  }
  const std::set<std::string_view> want = {"streamingllm", "lminfinite", "ntk",
                                           "citrus",       "infllm",     "ltri"};
  EXPECT_EQ(within, want);
}

}  // namespace
}  // namespace longhaul
