// Conversion of a GGUF file's metadata to a model: keys that change the arithmetic, and unsupported
// keys.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "model/gguf_model.h"

namespace longhaul {
namespace {

using testing_support::error_if_any;
using testing_support::error_of;
using testing_support::has;
using testing_support::kHeadDim;
using testing_support::kPositive;

class GgufConfig : public testing_support::GgufModel {};

TEST_F(GgufConfig, UnsupportedArchitecturesAreNamed) {
  for (const char* architecture : {"gemma3n", "mamba", ""}) {
    begin(architecture);
    EXPECT_TRUE(has(error_of([&] { config(); }),
                    {"m.gguf", "general.architecture", fmt::format("'{}'", architecture),
                     "supported: llama, "}));
  }
}

TEST_F(GgufConfig, TextsOfTheFileAreMadeFitForALine) {
  begin("a\nb\x1b[31m");
  EXPECT_TRUE(has(error_of([&] { config(); }), {R"(general.architecture is 'a\x0ab\x1b[31m')"}));
  begin("llama");
  text("rope.scaling.type", "a\nb\x1b[31m");
  EXPECT_TRUE(has(error_of([&] { config(); }), {R"(rope.scaling.type is 'a\x0ab\x1b[31m')"}));
}

/// Released models of these families see everything; llama.cpp leaves the key out as well.
TEST_F(GgufConfig, ASlidingWindowCountsWhereTheFamilyHasOne) {
  for (const char* architecture : {"llama", "qwen2", "qwen3", "qwen2vl", "qwen3vl", "qwen3moe",
                                   "smollm3", "granite", "glm4", "seed_oss", "ernie4_5"}) {
    begin(architecture);
    u32("attention.sliding_window", 24);
    EXPECT_EQ(config().window, (std::vector<int64_t>{0, 0, 0})) << architecture;
  }
  begin("phi3");
  u32("attention.sliding_window", 24);
  EXPECT_EQ(config().window, (std::vector<int64_t>{24, 24, 24}));
  EXPECT_EQ(config().shape().window, (std::vector<int64_t>{24, 24, 24}));
}

TEST_F(GgufConfig, LengthsThatCannotBe) {
  u64("attention.sliding_window", ~uint64_t{0});
  EXPECT_TRUE(has(error_of([&] { config(); }),
                  {"m.gguf", "llama.attention.sliding_window is 18446744073709551615"}));
  begin("llama", ~uint32_t{0});
  EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf", "llama.context_length is 4294967295"}));
}

TEST_F(GgufConfig, KvHeadsOfOneNumber) {
  EXPECT_EQ(config().kv_heads, (std::vector<int>{4, 4, 4})) << "as many as query heads";
  u32("attention.head_count_kv", 2);
  EXPECT_EQ(config().kv_heads, (std::vector<int>{2, 2, 2}));
}

TEST_F(GgufConfig, KvHeadsOfEachLayer) {
  kv_heads({1, 4, 2});
  weights({1, 4, 2});
  const Model model = load();
  EXPECT_EQ(model.config.kv_heads, (std::vector<int>{1, 4, 2}));
  EXPECT_EQ(model.shape.kv_heads, (std::vector<int>{1, 4, 2}));
  for (size_t l = 0; l < 3; ++l) {
    const auto rows = static_cast<int64_t>(kHeadDim) * model.config.kv_heads[l];
    EXPECT_EQ(model.layers[l].k.rows(), rows);
    EXPECT_EQ(model.layers[l].v.rows(), rows);
  }
}

TEST_F(GgufConfig, KvHeadsThatTheWeightsContradict) {
  kv_heads({1, 2, 2});
  weights({1, 4, 2});
  EXPECT_TRUE(has(error_of([&] { load(); }), {"blk.1.attn_k.weight", "[8, 8]", "[4, 8]"}));
}

TEST_F(GgufConfig, KvHeadsThatCannotBe) {
  kv_heads({1, 4});
  EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf", "llama.attention.head_count_kv"}));
  begin("llama");
  kv_heads({1, 3, 2});
  EXPECT_TRUE(has(error_of([&] { config(); }), {"attention.head_count_kv is 3", "4 query heads"}));
  begin("llama");
  kv_heads({1, 0, 2});
  EXPECT_TRUE(has(error_of([&] { config(); }), {"llama.attention.head_count_kv is 0"}));
}

TEST_F(GgufConfig, AttnFactorMultipliesTheMagnitudeOfYarn) {
  text("rope.scaling.type", "yarn");
  real("rope.scaling.factor", 4.0f);
  u32("rope.scaling.original_context_length", 16);
  const double own = 0.1 * std::log(4.0) + 1;
  EXPECT_NEAR(config().shape().rope.attention_factor, own, 1e-6);
  real("rope.scaling.attn_factor", 0.5f);
  EXPECT_NEAR(config().shape().rope.attention_factor, 0.5 * own, 1e-6);
}

TEST_F(GgufConfig, YarnKeysAreThoseOfTheModelThatWasConverted) {
  text("rope.scaling.type", "yarn");
  real("rope.scaling.factor", 4.0f);
  u32("rope.scaling.original_context_length", 16);
  real("rope.scaling.yarn_beta_fast", 8.0f);
  real("rope.scaling.yarn_beta_slow", 0.5f);
  real("rope.scaling.yarn_ext_factor", 1.0f);
  real("rope.scaling.yarn_attn_factor", 1.25f);
  const RopeSpec rope = config().rope;
  EXPECT_EQ(rope.beta_fast, 8.0);
  EXPECT_EQ(rope.beta_slow, 0.5);
  EXPECT_EQ(make_rope(rope, 0).attention_factor, 1.25f) << "config.json's attention_factor";
}

TEST_F(GgufConfig, YarnKeysThatChangeWhatIsDone) {
  for (const char* key : {"yarn_ext_factor", "yarn_log_multiplier", "alpha"}) {
    begin("llama");
    real(fmt::format("rope.scaling.{}", key).c_str(), 0.5f);
    EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf", key, "is 0.5: only 0 is supported"}));
  }
  begin("llama");
  text("rope.scaling.type", "yarn");
  u32("rope.scaling.original_context_length", 16);
  real("rope.scaling.yarn_ext_factor", 0.5f);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"yarn_ext_factor is 0.5: only 1 is supported"}));
  begin("llama");
  text("rope.scaling.type", "yarn");
  real("rope.scaling.yarn_beta_fast", 0.0f);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"yarn_beta_fast is 0, expected a positive"}));
}

TEST_F(GgufConfig, AttnFactorHoldsWithoutAScaling) {
  EXPECT_EQ(config().shape().rope.attention_factor, 1.0f);
  real("rope.scaling.attn_factor", 1.5f);
  EXPECT_EQ(config().shape().rope.attention_factor, 1.5f);
}

TEST_F(GgufConfig, AttnFactorIsTheWholeMagnitudeOfLongrope) {
  begin("phi3");
  u32("rope.scaling.original_context_length", 16);
  vector("rope_factors_long.weight", kHeadDim / 2, kPositive);
  vector("rope_factors_short.weight", kHeadDim / 2, kPositive);
  const double own = std::sqrt(1 + std::log(64.0 / 16) / std::log(16.0));
  EXPECT_NEAR(config().shape().rope.attention_factor, own, 1e-6);
  real("rope.scaling.attn_factor", 1.19f);
  EXPECT_NEAR(config().shape().rope.attention_factor, 1.19, 1e-6);
}

TEST_F(GgufConfig, AttnFactorsThatCannotBe) {
  for (const float factor : {0.0f, -1.0f, std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()}) {
    begin("llama");
    real("rope.scaling.attn_factor", factor);
    EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf", "llama.rope.scaling.attn_factor"}));
  }
}

TEST_F(GgufConfig, ValuesThatCannotBeAreNamedByTheirKeys) {
  const auto error_with = [&](const char* key, float value) {
    begin("llama");
    real(key, value);
    return error_of([&] { config(); });
  };
  EXPECT_TRUE(has(error_with("rope.freq_base", -1), {"m.gguf: llama.rope.freq_base is -1"}));
  EXPECT_TRUE(has(error_with("rope.scaling.factor", -2), {"llama.rope.scaling.factor is -2"}));
  EXPECT_TRUE(has(error_with("rope.scale_linear", -3), {"llama.rope.scale_linear is -3"}));
  begin("llama");
  u32("attention.key_length", 0);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf: llama.attention.key_length is 0"}));
  begin("llama");
  u32("rope.dimension_count", 1);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf: llama.rope.dimension_count is 1, but"}));
  u32("attention.key_length", 2);
  u32("attention.value_length", 4);
  EXPECT_TRUE(has(error_of([&] { config(); }),
                  {"attention.key_length is 2", "attention.value_length is 4"}));
  begin("phi3");
  u32("rope.scaling.original_context_length", 0);
  vector("rope_factors_long.weight", kHeadDim / 2, kPositive);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"rope_factors_short.weight"})) << "one of two";
  vector("rope_factors_short.weight", kHeadDim / 2, kPositive);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"rope.scaling.original_context_length is 0"}));
}

TEST_F(GgufConfig, KeysOfOtherArithmeticMustBeNeutral) {
  const auto error_with = [&](const std::string& key, float value) {
    begin("llama");
    real(key, value);
    return error_if_any([&] { config(); });
  };
  const auto scale = static_cast<float>(1 / std::sqrt(double{kHeadDim}));
  for (const auto& [key, neutral] :
       std::vector<std::pair<std::string, float>>{{"attn_logit_softcapping", 0.0f},
                                                  {"final_logit_softcapping", 0.0f},
                                                  {"attention.clamp_kqv", 0.0f},
                                                  {"attention.max_alibi_bias", 0.0f},
                                                  {"attention.temperature_scale", 0.0f},
                                                  {"logit_scale", 1.0f},
                                                  {"residual_scale", 1.0f},
                                                  {"embedding_scale", 1.0f},
                                                  {"attention.scale", scale}}) {
    EXPECT_EQ(error_with(key, neutral), "") << key;
    EXPECT_EQ(error_with(key, 0), "") << key << ": not set";
    for (const float other : {0.25f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
      EXPECT_TRUE(has(error_with(key, other), {fmt::format("m.gguf: llama.{} is {}", key, other)}));
    }
  }
  begin("llama");
  boolean("attention.causal", true);
  EXPECT_EQ(error_if_any([&] { config(); }), "");
  begin("llama");
  boolean("attention.causal", false);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf: llama.attention.causal is false"}));
}

TEST_F(GgufConfig, AVocabularyBeyondTheEmbeddingIsRefused) {
  u32("vocab_size", testing_support::kVocab);
  EXPECT_EQ(config().vocab, static_cast<int>(testing_support::kVocab));
  begin("llama");
  u32("vocab_size", testing_support::kVocab + 1);
  EXPECT_TRUE(has(error_of([&] { config(); }),
                  {"m.gguf: llama.vocab_size is 7, the embedding has 6 rows"}));
}

}  // namespace
}  // namespace longhaul
