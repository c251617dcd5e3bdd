#include <gtest/gtest.h>

#include "attention/methods/ltri/ltri_oracle.h"
#include "attention/through_file.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::LtriRules;
using testing_support::LtriSteps;
using testing_support::make;
using testing_support::MethodRun;
using testing_support::move_through_file;
using testing_support::small_shape;

constexpr const char* kSmall =
    "ltri:n_init=8,n_local=40,block=16,topk=2,chunk=24,cached=2,last=10,spans=3,vectors=6,"
    "theta=0.8,lambda_first=3";

void expect_definition(const std::string& text, const LtriRules& rules, int group = 2) {
  SCOPED_TRACE(text);
  const ModelShape shape = small_shape(static_cast<int>(rules.heads.size()), 2, group, 32);
  const auto method = make(text, shape);
  MethodRun run(shape, *method, DType::F32, 260);
  LtriSteps steps(run, rules);
  run.prompt(191, 64);
  run.decode(9);
  run.prompt(45, 64);
  run.decode(12);
  steps.prompt(191);
  steps.decode(9);
  steps.prompt(45);
  steps.decode(12);
  steps.expect_equal(run);
  EXPECT_GT(steps.layers[0]->blocks.size(), 10u);
}

TEST(Ltri, EqualsItsDefinitionWithAllHeads) {
  for (const int group : {1, 2, 3, 8}) {
    LtriRules rules;
    rules.heads = {-1};
    expect_definition(kSmall, rules, group);
  }
}

TEST(Ltri, EqualsItsDefinitionWithVotesOfRetrievalHeads) {
  LtriRules rules;
  rules.heads = {-1, 3, -1, 0, 2};
  rules.weights = {0, .5, 0, .75, .5};
  const std::string heads = std::string(kSmall) + ",heads=1.3:.5/3.0:.75/4.2:.5";
  expect_definition(heads, rules);
  LtriRules own = rules;
  own.vote = false;
  own.early = false;
  expect_definition(heads + ",vote=off,early=window", own);
}

TEST(Ltri, EqualsItsDefinitionWithOtherRules) {
  LtriRules rules;
  rules.heads = {1, -1};
  rules.weights = {1, 0};
  rules.max = true;
  rules.persistent = false;
  rules.ratio = SpanNeighbours::kBoth;
  const std::string text = std::string(kSmall) + ",heads=0.1,similarity=max,decode=refresh";
  expect_definition(text + ",ratio=rowcol", rules);
  rules.rows = true;
  rules.ratio = SpanNeighbours::kColumn;
  expect_definition(text + ",queries=rows,ratio=col", rules);
}

TEST(Ltri, EqualsItsDefinitionWithMeanKeysOfSpans) {
  LtriRules rules;
  rules.heads = {-1, 2};
  rules.weights = {0, 1};
  rules.mean = true;
  expect_definition(std::string(kSmall) + ",heads=1.2,index=mean", rules);
}

TEST(Ltri, AStepIsAtMostTheChunkThatIsAllowed) {
  LtriRules rules;
  rules.heads = {-1, 3};
  rules.weights = {0, 1};
  const ModelShape shape = small_shape(2, 2, 2, 32);
  for (const int64_t rows : {1, 7, 16}) {
    SCOPED_TRACE(rows);
    const auto method = make(std::string(kSmall) + ",heads=1.3", shape);
    MethodRun run(shape, *method, DType::F32, 205);
    LtriSteps steps(run, rules);
    run.prompt(200, static_cast<int>(rows));
    run.decode(5);
    steps.prompt(200, rows);
    steps.decode(5);
    steps.expect_equal(run);
    EXPECT_GT(steps.layers[0]->blocks.size(), 8u);  // a step looks up two of them
  }
}

TEST(Ltri, DecodingFromFewBlocksToMany) {
  LtriRules rules;
  rules.heads = {-1, 3};
  rules.weights = {0, 1};
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = make(std::string(kSmall) + ",heads=1.3", shape);
  MethodRun run(shape, *method, DType::F32, 140);
  LtriSteps steps(run, rules);
  run.prompt(66, 64);  // one block
  run.decode(70);
  steps.prompt(66);
  steps.decode(70);
  steps.expect_equal(run);
  EXPECT_GT(steps.layers[0]->blocks.size(), 4u);
}

TEST(Ltri, IsInfLlmWhereAllBlocksAreRetrieved) {
  const ModelShape shape = small_shape(3, 2, 3, 32);
  const std::string blocks = "n_init=8,n_local=40,block=16,topk=30,chunk=24";
  const auto ltri = make("ltri:last=1,heads=1.2," + blocks, shape);
  const auto infllm = make("infllm:" + blocks, shape);
  MethodRun a(shape, *ltri, DType::F32, 330), b(shape, *infllm, DType::F32, 330);
  for (MethodRun* run : {&a, &b}) {
    run->prompt(310, 64);
    run->decode(20);
  }
  for (size_t l = 0; l < 3; ++l) EXPECT_EQ(a.out[l], b.out[l]) << "layer " << l;
}

TEST(Ltri, ASecondQuestionAfterSavingAndRestoring) {
  LtriRules rules;
  rules.heads = {-1, 3};
  rules.weights = {0, 1};
  const std::string text = std::string(kSmall) + ",heads=1.3";
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = make(text, shape);
  MethodRun run(shape, *method, DType::F32, 520);
  LtriSteps steps(run, rules);
  run.prompt(401, 64);
  run.decode(30);
  steps.prompt(401);
  steps.decode(30);
  EXPECT_GT(run.store.spilled_bytes(), 0u);
  const auto restored = make(text, shape);
  MethodRun next(shape, *restored, DType::F32, 520);
  move_through_file(run, next);
  next.decode(3);  // uses the blocks that the prompt's last step chose
  next.prompt(70, 64);
  next.decode(10);
  steps.decode(3);
  steps.prompt(70);
  steps.decode(10);
  steps.expect_equal(next);
}

TEST(Ltri, TheLastStepHoldsTheQuestion) {
  const auto method = make("ltri", small_shape(1, 1, 1, 32));
  const std::vector<Pass> passes = method->prepare({0, 1100, 0, 1024});
  ASSERT_EQ(passes.size(), 4u);
  EXPECT_EQ(passes[0].count, 512);
  EXPECT_EQ(passes[2].count, 1100 - 32 - 1024);
  EXPECT_EQ(passes[3].count, 32);
  EXPECT_EQ(method->prepare({0, 20, 0, 1024}).size(), 1u);
  EXPECT_EQ(method->prepare({0, 1100, 0, 20}).back().count, 12) << "--chunk caps it";
}

TEST(Ltri, RefusesPartsOfAStepThatAreLongerThanIt) {
  const ModelShape shape = small_shape(1, 1, 1, 32);
  const auto refused = [&](const std::string& options) {
    return error_of([&] { make("ltri:" + options, shape); });
  };
  EXPECT_EQ(refused("last=600"), "--attention ltri: last=600: must be from 1 to chunk = 512");
  EXPECT_EQ(refused("chunk=16"), "--attention ltri: last=32: must be from 1 to chunk = 16");
  EXPECT_EQ(refused("queries=rows,query_rows=33"),
            "--attention ltri: query_rows=33: must be from 1 to last = 32");
  EXPECT_NO_THROW(make("ltri:chunk=16,last=16,queries=rows,query_rows=16", shape));
}

TEST(Ltri, RefusesHeadsAndThresholdsThatTheModelDoesNotHave) {
  const ModelShape shape = small_shape(4, 2, 3, 32);
  const auto refused = [&](const std::string& options) {
    return error_of([&] { make("ltri:" + options, shape); });
  };
  EXPECT_NE(refused("heads=4.0").find("layers 0 to 3"), std::string::npos);
  EXPECT_NE(refused("heads=0.6:.5").find("query heads 0 to 5"), std::string::npos);
  EXPECT_NE(refused("heads=0.1/0.2").find("named twice"), std::string::npos);
  EXPECT_NE(refused("heads=1").find("LAYER.HEAD"), std::string::npos);
  for (const char* weight : {"x", "0", "-1", "nan", "inf", "1e99"}) {
    EXPECT_NE(refused(std::string("heads=1.2:") + weight).find("LAYER.HEAD:WEIGHT"),
              std::string::npos)
        << weight;
  }
  EXPECT_NE(refused("theta=0.9/0.8").find("4 layers"), std::string::npos);
  EXPECT_NE(refused("phi=1.5").find("from 0 to 1"), std::string::npos);
  EXPECT_NE(refused("block=64,n_local=32").find("n_local"), std::string::npos);
}

}  // namespace
}  // namespace longhaul
