// Refusals of a run's methods before it begins.

#include "eval/tested_methods.h"

#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "base/error_of.h"

namespace longhaul {
namespace {

using testing_support::error_if_any;
using testing_support::error_of;
using testing_support::has;
using testing_support::small_shape;

PlannedTask task_that(bool scales) {
  PlannedTask task;
  task.scales = scales;
  return task;
}

/// The refusal of a method that reads up to the model's 4,096 trained tokens.
std::string refusal(std::vector<int64_t> lengths, const std::vector<PlannedTask>& tasks) {
  EvalSettings settings;
  settings.methods = {MethodSpec::parse("reattention:fidelity=paper")};
  settings.lengths = std::move(lengths);
  return error_if_any([&] { for_model(settings, small_shape(2, 2, 2, 64), tasks); });
}

TEST(TestedMethods, AMethodMustReadTheShortestLength) {
  EXPECT_EQ(refusal({8192, 4096}, {task_that(true)}), "");
  EXPECT_TRUE(has(refusal({8192}, {task_that(true)}), {"--attention reattention", "8192"}));
}

TEST(TestedMethods, LengthsSayNothingOfCasesThatHaveTheirOwn) {
  EXPECT_EQ(refusal({8192}, {task_that(false)}), "");
  EXPECT_TRUE(has(refusal({8192}, {task_that(false), task_that(true)}), {"reattention"}));
}

TEST(TestedMethods, TextsOfTheirOwnLengthAreCutToTheModelsUnlessAskedOtherwise) {
  const ModelShape shape = small_shape(2, 2, 2, 64);
  const std::vector<PlannedTask> own{task_that(false)}, both{task_that(false), task_that(true)};
  EvalSettings settings;
  EXPECT_EQ(for_model(settings, shape, own).longest_text, shape.trained_context);
  EXPECT_TRUE(for_model(settings, shape, own).lengths.empty())
      << "nothing is of a length asked for";
  ModelShape longer = shape;
  longer.trained_context = 131072;
  EXPECT_EQ(for_model(settings, longer, both).longest_text, 131072);
  EXPECT_EQ(for_model(settings, longer, both).lengths, std::vector<int64_t>{4096});
  settings.lengths = {1024, 2048};
  EXPECT_EQ(for_model(settings, longer, both).longest_text, 2048);
  EXPECT_EQ(for_model(settings, longer, both).lengths, settings.lengths);
}

TEST(TestedMethods, AMethodThatIsGivenTwiceIsRefused) {
  EvalSettings settings;
  settings.methods = {MethodSpec::parse("dense"), MethodSpec::parse("dense")};
  EXPECT_TRUE(has(error_of([&] { for_model(settings, small_shape(2, 2, 2, 64), {}); }),
                  {"dense is given twice"}));
}

TEST(TestedMethods, WhoLooksUpBlocksIsAskedOnceMoreWithTheEvidence) {
  EvalSettings settings;
  settings.inject_evidence = true;
  settings.methods = {MethodSpec::parse("dense")};
  EXPECT_TRUE(has(error_of([&] { for_model(settings, small_shape(2, 2, 2, 64), {}); }),
                  {"--inject-evidence", "infllm"}));
  settings.methods.push_back(MethodSpec::parse("infllm:topk=2"));
  const auto tested_methods = tested_methods_of(settings, small_shape(2, 2, 2, 64));
  ASSERT_EQ(tested_methods.size(), 3u);
  EXPECT_EQ(tested_methods[2].name, "control:evidence+infllm:topk=2");
  EXPECT_TRUE(tested_methods[2].shown_evidence && !tested_methods[1].shown_evidence);
  EXPECT_EQ(tested_methods[2].options.attention.text(), "infllm:topk=2");
  EXPECT_EQ(method_names(settings).back(), tested_methods[2].name);
}

}  // namespace
}  // namespace longhaul
