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

/// Two layers: the first without experts, the second with two of them beside a network of all rows.
/// The third predicts further tokens and is left out.
class GgufSharedExperts : public GgufFamilies {
 protected:
  GgufSharedExperts() {
    begin("dots1");
    kv_heads({4, 4, 4});
    u32("nextn_predict_layers", 1);
    u32("leading_dense_block_count", 1);
    u32("expert_count", 2);
    u32("expert_used_count", 1);
    u32("expert_feed_forward_length", 2);
    u32("expert_shared_count", 3);
    real("expert_weights_scale", 2.5f);
    boolean("expert_weights_norm", true);
  }
  void layer(const std::string& name, bool experts) {
    vector(name + "attn_norm.weight", kHidden);
    vector(name + "ffn_norm.weight", kHidden);
    for (const char* each : {"attn_q", "attn_k", "attn_v", "attn_output"})
      matrix(name + each + ".weight", kHidden, kHidden);
    for (const char* each : {"attn_q_norm", "attn_k_norm"})
      vector(name + each + ".weight", kHeadDim);
    if (!experts) return network(name, "", testing_support::kFfn);
    matrix(name + "ffn_gate_inp.weight", kHidden, 2);
    vector(name + "exp_probs_b.bias", 2);
    network(name, ".0", 2);
    network(name, ".1", 2);
    network(name, "_shexp", 6);
  }
  void network(const std::string& name, const std::string& of, uint64_t ffn) {
    matrix(name + "ffn_gate" + of + ".weight", kHidden, ffn);
    matrix(name + "ffn_up" + of + ".weight", kHidden, ffn);
    matrix(name + "ffn_down" + of + ".weight", ffn, kHidden);
  }
};

TEST_F(GgufSharedExperts, AreReadBesideDenseLayersAndLayersThatAreLeftOut) {
  vector("output_norm.weight", kHidden);
  layer("blk.0.", false);
  layer("blk.1.", true);
  layer("blk.2.", true);
  matrix("blk.2.nextn.eh_proj.weight", kHidden, kHidden);
  const Model model = load();
  EXPECT_EQ(model.config.layers, 2);
  EXPECT_EQ(model.config.ffn, 2);
  EXPECT_EQ(model.config.shared_ffn, 6);
  EXPECT_EQ(model.config.widest_ffn(), 6);
  EXPECT_EQ(model.config.expert_scale, 2.5f);
  EXPECT_TRUE(model.config.norm_topk_prob);
  EXPECT_TRUE(model.layers[0].experts.empty());
  EXPECT_EQ(model.layers[0].gate.rows(), 4);
  EXPECT_EQ(model.layers[1].experts.size(), 2u);
  EXPECT_EQ(model.layers[1].gate.rows(), 6);
  EXPECT_EQ(model.layers[1].choice_bias.size(), 2u);
}

TEST_F(GgufSharedExperts, NumbersThatCannotBeAreNamed) {
  u32("expert_gating_func", 1);
  EXPECT_TRUE(has(config_error(), {"m.gguf: dots1.expert_gating_func is 1", "only 2 is"}));
  for (const auto& [key, value, said] :
       {std::tuple{"leading_dense_block_count", 4u, "leading_dense_block_count is 4"},
        {"expert_used_count", 3u, "expert_used_count is 3"},
        {"expert_group_count", 4u, "expert_group_count is 4"}}) {
    begin("dots1");
    kv_heads({4, 4, 4});
    u32("expert_count", 2);
    if (std::string_view(key) != "expert_used_count") u32("expert_used_count", 1);
    u32(key, value);
    EXPECT_TRUE(has(config_error(), {"m.gguf: dots1.", said})) << config_error();
  }
}

/// Windows of OLMo 3 and EXAONE 4, whose layers rotate differently.
TEST_F(GgufFamilies, LayersWithAWindowRotateByThemselves) {
  begin("olmo2");
  EXPECT_TRUE(config().other_angles.empty());
  u32("attention.sliding_window", 24);
  real("rope.freq_base", 5e5f);
  text("rope.scaling.type", "yarn");
  real("rope.scaling.factor", 8);
  real("rope.scaling.attn_factor", 1.25f);
  ModelConfig c = config();
  EXPECT_EQ(c.window, (std::vector<int64_t>{24, 24, 24}));
  EXPECT_EQ(c.other_angles, (std::vector<uint8_t>{1, 1, 1}));
  EXPECT_EQ(c.other_rope.base, 5e5);
  EXPECT_EQ(c.other_rope.scaling, RopeScaling::kNone);
  EXPECT_EQ(c.rope.attention_factor, 1.25) << "the whole, not a factor of yarn's own";
  begin("exaone4");
  EXPECT_TRUE(config().other_angles.empty()) << "without windows all layers rotate";
  u32("attention.sliding_window", 24);
  u32("attention.sliding_window_pattern", 2);
  c = config();
  EXPECT_EQ(c.window, (std::vector<int64_t>{24, 0, 24}));
  EXPECT_EQ(c.other_angles, (std::vector<uint8_t>{0, 1, 0}));
  EXPECT_TRUE(c.other_rope.still);
}

}  // namespace
}  // namespace longhaul
