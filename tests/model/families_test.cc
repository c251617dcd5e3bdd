// Metadata of GGUF files by family: values that a family implies, and impossible keys.

#include "model/families.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/gguf_model.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;
using testing_support::kHeadDim;
using testing_support::kHidden;

class GgufFamilies : public testing_support::GgufModel {
 protected:
  std::string config_error() const {
    return error_of([&] { config(); });
  }
};

TEST_F(GgufFamilies, Gemma2ImpliesScalesCapsAndWindows) {
  begin("gemma2");
  u32("attention.sliding_window", 24);
  const ModelConfig c = config();
  EXPECT_EQ(c.window, (std::vector<int64_t>{24, 0, 24}));
  EXPECT_FLOAT_EQ(c.embedding_scale, std::sqrt(static_cast<float>(kHidden)));
  EXPECT_FLOAT_EQ(c.shape().scale, 1 / std::sqrt(static_cast<float>(kHeadDim)));
  EXPECT_EQ(c.attention_cap, 50.0f);
  EXPECT_EQ(c.shape().cap, 50.0f);
  EXPECT_EQ(c.logit_cap, 30.0f);
  EXPECT_EQ(c.gating, kGeluGating);
  EXPECT_FALSE(c.norm_offset) << "converters add the 1";
  EXPECT_EQ(c.beyond_plain(), "capped logits");
  real("attn_logit_softcapping", 20);
  EXPECT_EQ(config().attention_cap, 20.0f);
}

TEST_F(GgufFamilies, Gemma3TurnsLayersWithAWindowByAnotherBase) {
  begin("gemma3");
  u32("attention.sliding_window", 24);
  real("rope.freq_base", 1e6f);
  u32("attention.sliding_window_pattern", 3);
  ModelShape shape = config().shape();
  EXPECT_EQ(shape.window, (std::vector<int64_t>{24, 24, 0}));
  EXPECT_EQ(shape.other_angles, (std::vector<uint8_t>{1, 1, 0}));
  EXPECT_EQ(config().other_rope.base, 10000);
  EXPECT_EQ(&shape.rope_of(2), &shape.rope);
  EXPECT_EQ(&shape.rope_of(0), &shape.other_rope);
  real("rope.freq_base_swa", 20000);
  EXPECT_EQ(config().other_rope.base, 20000);
}

TEST_F(GgufFamilies, RopeBasesOfWindowsThatCannotBe) {
  begin("gemma3");
  real("rope.freq_base_swa", -1);
  EXPECT_TRUE(has(config_error(), {"m.gguf: gemma3.rope.freq_base_swa is -1"}));
  begin("gemma3");
  text("attention.sliding_window_pattern", "x");
  EXPECT_TRUE(has(config_error(), {"gemma3.attention.sliding_window_pattern"}));
}

TEST_F(GgufFamilies, SmolLM3HasLayersThatDoNotTurn) {
  begin("smollm3");
  const ModelShape shape = config().shape();
  EXPECT_EQ(shape.other_angles, (std::vector<uint8_t>{0, 0, 0})) << "the fourth would";
  EXPECT_EQ(shape.other_rope.inverse_frequency, (std::vector<double>(kHeadDim / 2, 0.0)));
}

TEST_F(GgufFamilies, GraniteMultiplies) {
  begin("granite");
  real("embedding_scale", 12);
  real("residual_scale", 0.25f);
  real("logit_scale", 8);
  real("attention.scale", 0.5f);
  const ModelConfig c = config();
  EXPECT_EQ(c.embedding_scale, 12.0f);
  EXPECT_EQ(c.residual_scale, 0.25f);
  EXPECT_EQ(c.logit_scale, 0.125f);
  EXPECT_EQ(c.shape().scale, 0.5f);
  begin("granite");
  real("residual_scale", -2);
  EXPECT_TRUE(has(config_error(), {"m.gguf: granite.residual_scale is -2, expected a positive"}));
}

TEST_F(GgufFamilies, ExpertsAreCounted) {
  u32("expert_count", 4);
  EXPECT_TRUE(has(config_error(), {"m.gguf", "llama.expert_used_count"}));
  u32("expert_used_count", 5);
  EXPECT_TRUE(has(config_error(), {"llama.expert_used_count is 5, which is outside 1..4"}));
  begin("qwen2");
  u32("expert_count", 4);
  EXPECT_TRUE(has(config_error(), {"qwen2.expert_count is 4", "not supported"}));
  begin("qwen3moe");
  u32("expert_count", 4);
  u32("expert_used_count", 2);
  u32("expert_feed_forward_length", 3);
  EXPECT_EQ(config().ffn, 3);
  EXPECT_EQ(config().beyond_plain(), "experts");
  u32("expert_shared_count", 1);
  EXPECT_TRUE(has(config_error(), {"qwen3moe.expert_shared_count is 1", "not supported"}));
}

/// Text tokens have one position where image patches have three.
TEST_F(GgufFamilies, ModelsThatSeeImagesReadTextsAsTheirTextModelsDo) {
  begin("qwen3vl");
  numbers("rope.dimension_sections", {1, 0, 0, 0});
  u32("n_deepstack_layers", 3);
  EXPECT_EQ(config().qk_norm, QkNorm::kHead);
  EXPECT_FALSE(config().qkv_bias);
  EXPECT_FALSE(config().interleaved_rope);
  begin("qwen2vl");
  numbers("rope.dimension_sections", {1, 0, 0, 0});
  EXPECT_EQ(config().qk_norm, QkNorm::kNone);
  EXPECT_TRUE(config().qkv_bias);
}

TEST(Families, AreKnownByTheNamesOfBothFiles) {
  using enum CheckpointFormat;
  EXPECT_EQ(find_family(kGguf, "mixtral"), nullptr);
  EXPECT_NE(find_family(kHuggingFace, "mixtral"), nullptr);
  EXPECT_TRUE(same_family("llama", "mistral"));
  EXPECT_TRUE(same_family("gemma3", "gemma3_text"));
  EXPECT_FALSE(same_family("gemma2", "gemma3"));
  EXPECT_EQ(family_names(kGguf).find("llama, llama"), std::string::npos);
}

}  // namespace
}  // namespace longhaul
