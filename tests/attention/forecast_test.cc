// What a method says beforehand that it will hold in memory, against what it holds: over several
// turns, with every kind of forgetting. A new method adds a row to the table.

#include <gtest/gtest.h>

#include <set>

#include "attention/method_run.h"
#include "attention/test_name.h"

namespace longhaul {
namespace {

using testing_support::MethodRun;
using testing_support::small_shape;

/// Settings that forget, choose or count within the test's 700 tokens, where the method does.
constexpr const char* kMethods[] = {
    "dense",
    "streamingllm:recent=60",
    "lminfinite:local=60",
    "ntk",
    "trianglemix:start_layer=1,window=60",
    "triangle:window=60",
    "duo:sparsity=1,recent=60",
    "reattention:local=256,chunk=100,span=8,clip=8",
    "citrus:cache=standard,k=200,chunk=150",
    "citrus:cache=shared,k=200,chunk=150",
    "citrus:k=200,chunk=150",
    "infllm:n_init=8,n_local=64,block=16,topk=2,chunk=32,cached=4",
    "ltri:n_init=8,n_local=64,block=16,topk=2,chunk=32,cached=4",
    "snapkv:capacity=60,window=8",
    "snapkv:capacity=60,window=8,per=query_head",
    "pyramidkv:capacity=60,window=8",
    "tova:capacity=60,stride=20",
    "tova:mode=easykv,capacity=60,stride=20",
    "h2o:budget=60,stride=20",
    "h2o:mode=oneshot,budget=60",
    "roco:budget=60,stride=20",
    "minference:dense_below=0",
    "flexprefill:dense_below=0",
    "xattention:dense_below=0",
    "fastgen:threshold=0.5",
    "fastgen:threshold=2",
};

TEST(Forecast, EveryMethodOfTheRegistryHasARow) {
  std::set<std::string_view> tested;
  for (const char* text : kMethods) tested.insert(MethodSpec::parse(text).info().name);
  for (const MethodInfo& info : attention_methods())
    EXPECT_TRUE(tested.count(info.name)) << info.name;
}

class Forecast : public ::testing::TestWithParam<const char*> {};

TEST_P(Forecast, IsNeverLessThanWhatIsHeld) {
  for (const DType type : {DType::F32, DType::Q8_0}) {
    const ModelShape shape = small_shape(2, 2, 3, 32);
    const auto method = MethodSpec::parse(GetParam()).make(shape);
    MethodRun run(shape, *method, type, 800);
    for (const int64_t tokens : {431, 1, 70, 130}) {
      run.prompt(tokens, 64);
      run.decode(17);
    }
    EXPECT_LE(run.most_bytes, method->most_kv_bytes(run.store.layout(), run.done, 64));
  }
}

TEST_P(Forecast, CountsALongReply) {
  const ModelShape shape = small_shape(2, 2, 3, 32);
  const auto method = MethodSpec::parse(GetParam()).make(shape);
  MethodRun run(shape, *method, DType::F32, 520);
  run.prompt(310, 64);
  run.decode(200);
  const KvLayout& layout = run.store.layout();
  EXPECT_LE(run.most_bytes, method->keeps_replies()
                                ? method->most_kv_bytes(layout, 310, 64) + layout.bytes_for(200)
                                : method->most_kv_bytes(layout, 510, 64));
}

TEST_P(Forecast, OfAPromptIsNotThriceWhatTheStoreHolds) {
  const ModelShape shape = small_shape(2, 2, 3, 64);
  const auto method = MethodSpec::parse(GetParam()).make(shape);
  MethodRun run(shape, *method, DType::F32, 700);
  run.prompt(700, 64);
  EXPECT_GE(3 * run.most_bytes, method->most_kv_bytes(run.store.layout(), 700, 64));
}

INSTANTIATE_TEST_SUITE_P(Registry, Forecast, ::testing::ValuesIn(kMethods), [](const auto& tested) {
  return testing_support::test_name(tested.param);
});

}  // namespace
}  // namespace longhaul
