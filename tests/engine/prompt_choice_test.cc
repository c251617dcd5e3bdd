// AttentionDriver::prompt_choice(): what it says of each method, and that it is so.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "engine/perplexity.h"

namespace longhaul {
namespace {

class PromptChoices : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { nano_ = Engine::open(LONGHAUL_MODELS "/nano"); }
  static void TearDownTestSuite() { nano_.reset(); }

  static PromptChoice choice(const std::string& method) {
    return MethodSpec::parse(method).make(nano_->model().shape)->prompt_choice();
  }

  /// -ln p per token of 200 tokens, the first `prefill` of them a prompt.
  static double loss(const std::string& method, int64_t prefill) {
    std::vector<int32_t> tokens;
    for (int i = 0; i < 200; ++i) tokens.push_back(3 + i * i % 4000);
    SessionOptions options;
    options.attention = MethodSpec::parse(method);
    options.kv_type = DType::F32;
    options.compute = Compute::kF32;
    return measure_perplexity(nano_, options, tokens,
                              {.window = 200, .stride = 200 - prefill, .prefill = prefill})
        .mean();
  }

  inline static std::shared_ptr<const Engine> nano_;
};

TEST_F(PromptChoices, AreWhatTheMethodsDo) {
  const std::map<std::string, PromptChoice> by_the_end = {
      {"snapkv", PromptChoice::kAtEnd},         {"pyramidkv", PromptChoice::kAtEnd},
      {"fastgen", PromptChoice::kAtEnd},        {"tova", PromptChoice::kByLastRow},
      {"citrus", PromptChoice::kByInstruction},
  };
  for (const MethodInfo& method : attention_methods()) {
    const auto found = by_the_end.find(std::string(method.name));
    EXPECT_EQ(choice(std::string(method.name)),
              found == by_the_end.end() ? PromptChoice::kWhileReading : found->second)
        << method.name;
  }
  EXPECT_EQ(choice("h2o:mode=oneshot"), PromptChoice::kAtEnd);
  EXPECT_EQ(choice("tova:mode=easykv"), PromptChoice::kByLastRow);
  EXPECT_EQ(choice("citrus:cache=standard"), PromptChoice::kByInstruction);
}

/// Until the prompt ends its rows are those of dense attention; then much is gone.
TEST_F(PromptChoices, AtTheEndMeansDenseUntilThen) {
  const double prompt = loss("dense", 0), reply = loss("dense", 150);
  for (const char* method : {"snapkv:capacity=64,window=16", "pyramidkv:capacity=64,window=8",
                             "h2o:mode=oneshot,budget=64", "fastgen:threshold=0"}) {
    SCOPED_TRACE(method);
    ASSERT_EQ(choice(method), PromptChoice::kAtEnd);
    EXPECT_NEAR(loss(method, 0), prompt, 2e-3);
    EXPECT_GT(std::abs(loss(method, 150) - reply), 1e-6);
  }
}

}  // namespace
}  // namespace longhaul
