#include <gtest/gtest.h>

#include "attention/method_run.h"
#include "attention/method_spec.h"
#include "base/error_of.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::small_shape;

constexpr PromptFacts kPrompt{.tokens = 300, .instruction = 20};

std::string refused(const char* text, int head_dim = 64, KvType type = DType::BF16,
                    PromptFacts prompt = kPrompt) {
  return error_of(
      [&] { check_method(MethodSpec::parse(text), small_shape(2, 2, 2, head_dim), type, prompt); });
}

TEST(CheckMethod, TakesEveryMethodWithItsDefaults) {
  for (const MethodInfo& method : attention_methods()) {
    if (!method.describe().list.needed().empty()) continue;
    for (const int chunk : {0, 1, 4096}) {
      PromptFacts prompt = kPrompt;
      prompt.chunk = chunk;
      EXPECT_NO_THROW(check_method(MethodSpec::parse(method.name), small_shape(2, 2, 2, 64),
                                   DType::Q8_0, prompt))
          << method.name;
    }
  }
}

TEST(CheckMethod, RefusesWhatTheModelDoesNotHave) {
  EXPECT_TRUE(has(refused("ltri:heads=99.0"), {"--attention ltri: heads", "layers 0 to 1"}));
  EXPECT_TRUE(has(refused("trianglemix:start_layer=3"), {"start_layer=3", "0 to 2"}));
  EXPECT_TRUE(has(refused("duo"), {"--attention duo: needs gates"}));
  EXPECT_TRUE(has(refused("duo:gates=/no/such"), {"--attention duo: gates=/no/such"}));
}

TEST(CheckMethod, RefusesATypeInWhichRowsCannotBeKept) {
  EXPECT_TRUE(has(refused("dense", 16, DType::Q8_0), {"--kv-type q8_0", "16"}));
  EXPECT_TRUE(
      has(refused("dense", 16, {DType::F16, DType::Q4_0}), {"--kv-type k=f16,v=q4_0", "16"}));
}

TEST(CheckMethod, RefusesWhatThePromptRulesOut) {
  EXPECT_TRUE(has(refused("citrus", 64, DType::BF16, {.tokens = 300}), {"--attention citrus"}));
  // 32 + 127 * 32 + 4096 visible keys, and more prompt tokens than the 4,096 trained ones.
  const char* wide = "reattention:fidelity=paper";
  EXPECT_TRUE(has(refused(wide, 64, DType::BF16, {.tokens = 4097}), {"reattention", "8192"}));
  EXPECT_NO_THROW(check_method(MethodSpec::parse(wide), small_shape(2, 2, 2, 64), DType::BF16,
                               {.tokens = 4096}));
}

}  // namespace
}  // namespace longhaul
