// Every method of the registry equals dense attention with options that cover everything. The
// registry has these options (MethodInfo::covers).

#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "attention/test_name.h"
#include "attention/tested_methods.h"
#include "attention/through_file.h"

namespace longhaul {
namespace {

using testing_support::attention_by_definition;
using testing_support::largest_difference;
using testing_support::MethodRun;
using testing_support::move_through_file;
using testing_support::small_shape;

TEST(EqualsDense, EveryMethodOfTheRegistrySaysWhatCoversEverything) {
  for (const MethodInfo& info : attention_methods()) EXPECT_FALSE(info.covers.empty()) << info.name;
}

class EqualsDense : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<AttentionDriver> make(const ModelShape& shape) const {
    return testing_support::make_tested(GetParam(), shape);
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
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = make(shape);
  MethodRun run(shape, *method, DType::F32, 160);
  run.prompt(90, 64);
  run.decode(7);
  const auto restored = make(shape);
  MethodRun next(shape, *restored, DType::F32, 160);
  move_through_file(run, next);
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

INSTANTIATE_TEST_SUITE_P(
    Registry, EqualsDense,
    ::testing::ValuesIn(testing_support::covering_settings(testing_support::tested_methods())),
    [](const auto& tested) { return testing_support::test_name(tested.param); });

}  // namespace
}  // namespace longhaul
