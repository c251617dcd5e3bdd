// Every method of the registry, with options that cover everything, is dense attention. A new
// method adds a row to the table.

#include <gtest/gtest.h>

#include <map>

#include "attention/method_run.h"
#include "attention/test_name.h"
#include "base/byte_stream.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::attention_by_definition;
using testing_support::largest_difference;
using testing_support::MethodRun;
using testing_support::small_shape;
using testing_support::TempFolder;

/// Options under which a method sees and keeps everything.
const std::map<std::string_view, std::vector<const char*>> kCovering = {
    {"dense", {"dense"}},
    {"streamingllm", {"streamingllm", "streamingllm:sink=0,recent=700"}},
    {"lminfinite", {"lminfinite", "lminfinite:global=0,local=700"}},
    {"ntk", {"ntk", "ntk:mode=hf", "ntk:mode=fixed,context=4096"}},
    {"trianglemix",
     {"trianglemix:window=700", "trianglemix:window=700,layers=0",
      "trianglemix:sink=700,window=1,last=0", "trianglemix:window=1,last=700,start_layer=0",
      "trianglemix:window=700,dense=xattention,dense_options=tau=1+dense_below=0"}},
    {"triangle", {"triangle:window=700", "triangle:sink=700,window=1,last=0"}},
    {"minference",
     {"minference", "minference:dense_below=0,vertical=700,slash=1",
      "minference:dense_below=0,vertical=0,slash=700",
      "minference:dense_below=0,pattern=a_shape,vertical=0,slash=700",
      "minference:dense_below=0,pattern=blocks"}},
    {"flexprefill",
     {"flexprefill", "flexprefill:dense_below=0,min_budget=700",
      "flexprefill:dense_below=0,gamma=1,min_budget=128"}},
    {"xattention",
     {"xattention", "xattention:dense_below=0,tau=1", "xattention:dense_below=0,tau=1,stride=4"}},
    {"duo",
     {"duo:sparsity=0", "duo:sparsity=1,recent=700",
      "duo:sparsity=1,sink=300,recent=400,prefill_mode=strict_streaming"}},
    {"snapkv", {"snapkv", "snapkv:per=query_head"}},
    {"pyramidkv", {"pyramidkv"}},
    {"tova", {"tova", "tova:mode=easykv", "tova:mode=easykv,positions=cache"}},
    {"h2o", {"h2o", "h2o:mode=oneshot", "h2o:positions=cache"}},
    {"roco", {"roco", "roco:positions=cache"}},
    {"citrus",
     {"citrus", "citrus:cache=shared,chunk=16", "citrus:cache=standard,chunk=7",
      "citrus:chunk=50,fidelity=paper"}},
    {"infllm", {"infllm", "infllm:n_init=0,n_local=700,chunk=33"}},
    {"ltri", {"ltri", "ltri:n_init=0,n_local=700,chunk=33,heads=0.0"}},
    {"fastgen", {"fastgen:threshold=1.5", "fastgen:global=700", "fastgen:heavy=1,threshold=1"}},
    {"reattention",
     {"reattention", "reattention:global=3,local=256,chunk=128,span=1400",
      "reattention:fidelity=paper,global=2,local=30,chunk=16,span=1400,positions=original"}},
};

TEST(EqualsDense, EveryMethodOfTheRegistryHasARow) {
  for (const MethodInfo& info : attention_methods()) {
    EXPECT_TRUE(kCovering.count(info.name)) << info.name;
  }
}

std::vector<const char*> every_covering_method() {
  std::vector<const char*> all;
  for (const auto& [name, texts] : kCovering) all.insert(all.end(), texts.begin(), texts.end());
  return all;
}

class EqualsDense : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<AttentionMethod> make(const ModelShape& shape) const {
    return MethodSpec::parse(GetParam()).make(shape);
  }

  static void expect_dense(const MethodRun& run) {
    for (int layer = 0; layer < run.shape.layers; ++layer) {
      const size_t l = static_cast<size_t>(layer);
      const int64_t window = run.shape.window[l];
      const auto want = attention_by_definition(
          run.shape, layer, run.inputs[l], run.done,
          [&](int64_t i, int64_t j) { return window == 0 || i - j < window; });
      EXPECT_LT(largest_difference(run.out[l], want), 3e-5)
          << GetParam() << " layer " << layer << " heads " << run.shape.heads << " of "
          << run.shape.kv_heads[l] << " tokens " << run.done;
    }
  }
};

TEST_P(EqualsDense, ForEveryGroupSize) {
  for (const int group : {1, 2, 3, 8}) {
    const ModelShape shape = small_shape(2, 2, group, 32);
    const auto method = make(shape);
    MethodRun run(shape, *method, DType::F32, 110);
    run.prompt(101, 40);
    run.decode(9);
    expect_dense(run);
  }
}

TEST_P(EqualsDense, ForOddLengthsAndOneToken) {
  for (const int64_t prompt : {1, 2, 63, 65, 129}) {
    const ModelShape shape = small_shape(1, 2, 3, 32);
    const auto method = make(shape);
    MethodRun run(shape, *method, DType::F32, prompt + 3);
    run.prompt(prompt, 48);
    run.decode(3);
    expect_dense(run);
  }
}

TEST_P(EqualsDense, ForEveryChunkSize) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  for (const int chunk : {1, 7, 64, 128, 1000}) {
    const auto method = make(shape);
    MethodRun run(shape, *method, DType::F32, 300);
    run.prompt(300, chunk);
    expect_dense(run);
  }
}

TEST_P(EqualsDense, ForLayersThatDifferInKvHeadsAndWindow) {
  ModelShape shape = small_shape(4, 2, 2, 32);
  shape.kv_heads = {1, 2, 4, 2};
  shape.window = {0, 17, 5, 1};
  const auto method = make(shape);
  MethodRun run(shape, *method, DType::F32, 90);
  run.prompt(83, 30);
  run.decode(7);
  expect_dense(run);
}

TEST_P(EqualsDense, InASecondPromptAfterTheFirst) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = make(shape);
  MethodRun run(shape, *method, DType::F32, 200);
  run.prompt(90, 64);
  run.decode(9);
  run.prompt(1, 64);
  run.decode(4);
  run.prompt(91, 40);
  run.decode(5);
  expect_dense(run);
}

TEST_P(EqualsDense, AfterSavingAndRestoringBetweenTheTurns) {
  const TempFolder folder;
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = make(shape);
  MethodRun run(shape, *method, DType::F32, 160);
  run.prompt(90, 64);
  run.decode(7);
  {
    ByteWriter out(folder.path() / "s");
    method->save(out);
    run.store.save(out);
    out.finish();
  }
  const auto restored = make(shape);
  MethodRun next(shape, *restored, DType::F32, 160);
  ByteReader in(folder.path() / "s");
  restored->restore(in);
  next.store.restore(in);
  EXPECT_EQ(in.remaining(), 0u);
  next.done = run.done;
  for (size_t l = 0; l < 2; ++l) {
    std::copy_n(run.out[l].begin(), run.done * shape.heads * 32, next.out[l].begin());
  }
  next.decode(3);
  next.prompt(55, 32);
  next.decode(5);
  expect_dense(next);
}

TEST_P(EqualsDense, AfterAPromptThatWasCutShort) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = make(shape);
  MethodRun run(shape, *method, DType::F32, 160);
  run.prompt(120, 40, 1, 1);
  run.prompt(60, 32);
  run.decode(5);
  expect_dense(run);
}

INSTANTIATE_TEST_SUITE_P(Registry, EqualsDense, ::testing::ValuesIn(every_covering_method()),
                         [](const auto& tested) {
                           return testing_support::test_name(tested.param);
                         });

}  // namespace
}  // namespace longhaul
