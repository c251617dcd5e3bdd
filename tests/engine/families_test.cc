// Every attention method on every family with more than llama's arithmetic: capped logits, sinks,
// layers with their own angles, experts. Goldens of these models: reference_logits_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "attention/settings.h"
#include "attention/test_name.h"
#include "engine/exact_logits.h"
#include "engine/session.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

const fs::path kTiny = fs::path(LONGHAUL_TEST_DATA) / "tiny_models";

constexpr const char* kFamilies[] = {"gemma2",
                                     "gemma3",
                                     "qwen3_moe",
                                     "smollm3",
                                     "granite",
                                     "olmo2",
                                     "glm4",
                                     "ministral3",
                                     "gguf/gpt_oss.gguf",
                                     "olmo3",
                                     "exaone4",
                                     "minimax_m2",
                                     "glm4_moe",
                                     "dots1",
                                     "qwen3_next",
                                     "qwen3_5",
                                     "gguf/qwen3_5_moe.gguf",
                                     "ernie4_5_moe",
                                     "cohere2",
                                     "apertus",
                                     "arcee",
                                     "gemma4",
                                     "gemma4_moe",
                                     "deepseek_v3",
                                     "deepseek_v2",
                                     "mistral4",
                                     "gguf/glm4_moe_lite.gguf",
                                     "youtu",
                                     "lfm2",
                                     "gguf/lfm2_moe.gguf",
                                     "granite_hybrid",
                                     "gguf/granite_hybrid_dense.gguf",
                                     "nemotron_h",
                                     "nemotron_h_dense",
                                     "falcon_h1",
                                     "bamba",
                                     "exaone_moe",
                                     "solar_open",
                                     "gguf/hy_v3.gguf",
                                     "hunyuan",
                                     "gguf/hunyuan_moe.gguf",
                                     "llama4",
                                     "gpt_oss_mxfp4"};

std::vector<int32_t> prompt() { return testing_support::scattered_tokens(120); }

/// Logits after the prompt and after each of a few more tokens, or the refusal of the method.
struct FamilyReading {
  std::vector<float> logits;
  std::string refusal;
};

FamilyReading read(const std::shared_ptr<const Engine>& engine, const std::string& method) {
  SessionOptions options;
  options.compute = Compute::kF32;
  options.kv_type = DType::F32;
  options.chunk = 50;
  FamilyReading reading;
  try {
    options.attention = MethodSpec::parse(method);
    Session session(engine, options);
    PrefillHooks hooks;
    hooks.instruction = 16;
    EXPECT_TRUE(session.prefill(prompt(), hooks)) << method;
    for (const int32_t token : {5, 77, 130}) {
      const auto logits = session.logits();
      reading.logits.insert(reading.logits.end(), logits.begin(), logits.end());
      session.decode(token);
    }
  } catch (const UserError& error) {
    reading.refusal = error.what();
    EXPECT_EQ(reading.refusal.find('\n'), std::string::npos) << reading.refusal;
  }
  return reading;
}

class Families : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { engine_ = Engine::open(kTiny / GetParam()); }
  /// Whether the refusal names the model's arithmetic as the reason.
  bool refused_for_a_reason(const std::string& refusal) const {
    const ModelShape& shape = engine_->model().shape;
    const auto says = [&](const char* text) { return refusal.find(text) != std::string::npos; };
    return (shape.cap > 0 && says("caps its attention logits")) ||
           (shape.values_in_keys && says("one latent vector")) ||
           (!shape.query_weights.empty() && says("weighs its queries after their rotation")) ||
           (shape.chunked && says("attends within chunks of its text"));
  }
  /// Whether a model with plain arithmetic is also refused the setting.
  static bool refused_to_others(const std::string& method) {
    static const auto plain = Engine::open(kTiny / "llama_linear");
    return !read(plain, method).refusal.empty();
  }

  std::shared_ptr<const Engine> engine_;
};

TEST_P(Families, SayWhatIsBeyondThePlainArithmetic) {
  EXPECT_NE(engine_->model().config.beyond_plain(), "");
  EXPECT_EQ(Engine::open(kTiny / "qwen3")->model().config.beyond_plain(), "");
}

TEST_P(Families, MethodsThatCoverThePromptReadItAsDenseAttention) {
  const FamilyReading dense = read(engine_, "dense");
  ASSERT_FALSE(dense.logits.empty()) << dense.refusal;
  for (const std::string& method :
       testing_support::first_of_each_kind(testing_support::covering_settings())) {
    if (method.starts_with("ntk:mode=fixed")) continue;  // fits nano's trained length only
    const FamilyReading got = read(engine_, method);
    if (!got.refusal.empty()) {
      EXPECT_TRUE(refused_to_others(method) || refused_for_a_reason(got.refusal))
          << method << ": " << got.refusal;
      continue;
    }
    ASSERT_EQ(got.logits.size(), dense.logits.size()) << method;
    for (size_t i = 0; i < dense.logits.size(); ++i) {
      ASSERT_NEAR(got.logits[i], dense.logits[i], 2e-3 * std::max(1.0f, std::abs(dense.logits[i])))
          << method << " logit " << i;
    }
  }
}

TEST_P(Families, MethodsThatForgetGoOn) {
  for (const auto& small : testing_support::first_of_each_kind(testing_support::small_settings())) {
    const FamilyReading got = read(engine_, small.spec);
    if (!got.refusal.empty()) {
      EXPECT_TRUE(refused_to_others(small.spec) || refused_for_a_reason(got.refusal))
          << got.refusal;
      continue;
    }
    EXPECT_TRUE(std::all_of(got.logits.begin(), got.logits.end(), [](float logit) {
      return std::isfinite(logit);
    })) << small.spec;
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, Families, testing::ValuesIn(kFamilies), [](const auto& test) {
  return testing_support::test_name(fs::path(test.param).stem().string());
});

}  // namespace
}  // namespace longhaul
