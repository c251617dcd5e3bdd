// Configurations of models with Mamba-2 layers or gated short convolutions, and impossible values
// of their keys.

#include <gtest/gtest.h>

#include "model/gguf_model.h"
#include "model/tiny_config.h"

namespace longhaul {
namespace {

using nlohmann::json;
using testing_support::error_of;
using testing_support::has;

class HybridConfig : public testing_support::TinyConfig {
 protected:
  std::string error(const std::string& model, const json& values) {
    return error_of([&] { with(model, values); });
  }
};

TEST_F(HybridConfig, LayersOfLfm2) {
  const ModelConfig c = with("lfm2", json::object());
  EXPECT_EQ(c.recurrent, (std::vector<uint8_t>{1, 0, 1, 0, 1}));
  EXPECT_EQ(c.shape().layers, 2);
  EXPECT_EQ(c.attention_before(3), 1);
  EXPECT_EQ(c.recurrent_before(4), 2);
  EXPECT_EQ(c.ffn, 96);
  EXPECT_EQ(c.layer_state(), 2 * 64);
  const json types = {"conv", "conv", "full_attention", "conv", "conv"};
  EXPECT_EQ(with("lfm2", {{"layer_types", types}}).recurrent,
            (std::vector<uint8_t>{1, 1, 0, 1, 1}));
  EXPECT_EQ(with("lfm2", {{"block_auto_adjust_ff_dim", false}}).ffn, 120);
  EXPECT_TRUE(with("lfm2_moe", json::object()).choice_bias);
  EXPECT_FALSE(with("lfm2_moe", {{"use_expert_bias", false}}).choice_bias);
}

TEST_F(HybridConfig, ImpossibleValuesOfLfm2AreNamed) {
  EXPECT_TRUE(has(error("lfm2", {{"full_attn_idxs", {1, 5}}}), {"'full_attn_idxs' holds '5'"}));
  EXPECT_TRUE(has(error("lfm2", {{"full_attn_idxs", 3}}), {"'full_attn_idxs' is", "a list"}));
  EXPECT_TRUE(has(error("lfm2", {{"full_attn_idxs", nullptr}}), {"'full_attn_idxs' is missing"}));
  EXPECT_TRUE(has(error("lfm2", {{"full_attn_idxs", json::array()}}),
                  {"names no layer with attention, at least one is required"}));
  EXPECT_TRUE(has(error("lfm2", {{"layer_types", {"conv"}}}),
                  {"'layer_types' does not list one type for each of 5 layers"}));
  EXPECT_TRUE(has(error("lfm2_moe", {{"layer_types", {"conv", "mamba", "conv", "conv", "conv"}}}),
                  {"layer_types[1]"}));
  EXPECT_TRUE(has(error("lfm2", {{"conv_L_cache", 1}}), {"conv_L_cache is 1", "2..64"}));
  EXPECT_TRUE(has(error("lfm2", {{"conv_bias", true}}), {"conv_bias is true"}));
  EXPECT_TRUE(has(error("lfm2", {{"block_multiple_of", 0}}), {"'block_multiple_of' is 0"}));
}

TEST_F(HybridConfig, LayersOfMamba2Families) {
  const ModelConfig granite = with("granite_hybrid", json::object());
  EXPECT_EQ(granite.recurrent, (std::vector<uint8_t>{1, 0, 1, 1}));
  EXPECT_TRUE(granite.rope.still);
  EXPECT_EQ(granite.shared_ffn, 48);
  EXPECT_EQ(granite.ssm.inner(), 128);
  EXPECT_FALSE(with("granite_hybrid", {{"position_embedding_type", "rope"}}).rope.still);
  EXPECT_EQ(with("granite_hybrid_dense", json::object()).ffn, 48);
  const json attention = {"attention", "attention", "attention", "attention"};
  EXPECT_TRUE(with("granite_hybrid_dense", {{"layer_types", attention}}).recurrent.empty());

  const ModelConfig falcon = with("falcon_h1", json::object());
  EXPECT_TRUE(falcon.has_both(1));
  EXPECT_EQ(falcon.shape().layers, 2);
  EXPECT_EQ(falcon.recurrent_layers(), 2);

  const ModelConfig nemotron = with("nemotron_h", json::object());
  EXPECT_EQ(nemotron.recurrent, (std::vector<uint8_t>{1, 0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(nemotron.shape().layers, 1);
  EXPECT_EQ(nemotron.attention_before(4), 1);
  EXPECT_EQ(nemotron.feed_of(1), FeedKind::kExperts);
  EXPECT_EQ(nemotron.feed_of(3), FeedKind::kNone);
  EXPECT_EQ(with("nemotron_h_dense", json::object()).layers, 5);
  EXPECT_EQ(with("nemotron_h_dense", json::object()).experts, 0);
  EXPECT_EQ(with("bamba", json::object()).rope.rotary_dim, 8);
}

TEST_F(HybridConfig, ImpossibleSizesOfMamba2LayersAreNamed) {
  const auto wrong = [&](const json& values) { return error("granite_hybrid", values); };
  EXPECT_TRUE(has(wrong({{"mamba_n_heads", 0}}), {"mamba_n_heads is 0"}));
  EXPECT_TRUE(has(wrong({{"mamba_n_heads", 6}}),
                  {"mamba_expand * hidden_size is 128, which 6 heads of 16 elements do not fill"}));
  EXPECT_TRUE(has(wrong({{"mamba_n_heads", 16}, {"mamba_d_head", 8}}),
                  {"mamba_d_head is 8, expected a multiple of 16"}));
  EXPECT_TRUE(has(wrong({{"mamba_n_groups", 3}}),
                  {"mamba_n_groups is 3, which 8 heads cannot share evenly"}));
  EXPECT_TRUE(has(wrong({{"mamba_d_state", 4096}}), {"mamba_d_state is 4096"}));
  EXPECT_TRUE(has(wrong({{"mamba_d_conv", 1}}), {"mamba_d_conv is 1"}));
  EXPECT_TRUE(has(wrong({{"mamba_proj_bias", true}}), {"mamba_proj_bias is true"}));
  EXPECT_TRUE(has(wrong({{"time_step_limit", {0.001, 0.1}}}), {"time_step_limit is"}));
  const json infinity = {{"__float__", "Infinity"}};
  EXPECT_NO_THROW(with("granite_hybrid", {{"time_step_limit", json::array({0.0, infinity})}}));
  EXPECT_TRUE(has(wrong({{"layer_types", {"mamba", "attention"}}}),
                  {"'layer_types' does not list one type for each of 4 layers"}));
  EXPECT_TRUE(has(wrong({{"layer_types", {"mamba", "mamba", "mamba", "mamba"}}}),
                  {"layer_types names no layer with attention"}));
  EXPECT_TRUE(has(error("falcon_h1", {{"mamba_d_ssm", 100}}), {"mamba_d_ssm is 100"}));
  EXPECT_TRUE(has(error("falcon_h1", {{"ssm_multipliers", {1.0, 2.0}}}),
                  {"'ssm_multipliers' is", "5 positive numbers"}));
  EXPECT_TRUE(has(error("falcon_h1", {{"key_multiplier", -1}}), {"'key_multiplier' is -1"}));
}

TEST_F(HybridConfig, ImpossibleLayersOfNemotronAreNamed) {
  const auto wrong = [&](const json& values) { return error("nemotron_h", values); };
  EXPECT_TRUE(has(wrong({{"hybrid_override_pattern", "ME*"}}),
                  {"'hybrid_override_pattern' does not list one type for each of 7 layers"}));
  EXPECT_TRUE(has(wrong({{"hybrid_override_pattern", "MEM*EMX"}}),
                  {"hybrid_override_pattern[6]: 'X' is not supported"}));
  EXPECT_TRUE(has(wrong({{"n_routed_experts", 0}}), {"'n_routed_experts' is 0"}));
  EXPECT_TRUE(has(wrong({{"moe_latent_size", 16}}), {"moe_latent_size is 16"}));
  EXPECT_TRUE(has(wrong({{"mlp_hidden_act", "silu"}}), {"hidden_act is 'silu'"}));
  EXPECT_TRUE(has(wrong({{"mamba_hidden_act", "gelu"}}), {"mamba_hidden_act is 'gelu'"}));
  EXPECT_TRUE(has(error("nemotron_h_dense", {{"layers_block_type", {"mlp", "rnn"}}}),
                  {"layers_block_type[1]"}));
}

class HybridGguf : public testing_support::GgufModel {
 protected:
  void begin_mamba(const std::string& architecture, uint32_t heads, uint32_t groups,
                   bool width = true) {
    begin(architecture, 64, width);
    u32("ssm.group_count", groups);
    u32("ssm.time_step_rank", heads);
    u32("ssm.state_size", 16);
    u32("ssm.inner_size", 64);
    u32("ssm.conv_kernel", 4);
  }
  std::string error() {
    return error_of([&] { config(); });
  }
};

TEST_F(HybridGguf, LayersWithoutKvHeadsAreRecurrent) {
  begin("lfm2");
  u32("shortconv.l_cache", 3);
  kv_heads({0, 2, 0});
  const ModelConfig c = config();
  EXPECT_EQ(c.recurrent, (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(c.kv_heads, (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(c.shape().kv_heads, (std::vector<int>{2}));
  u32("attention.sliding_window", 16);
  EXPECT_EQ(config().shape().window, (std::vector<int64_t>{16}));

  begin_mamba("granitehybrid", 4, 2);
  kv_heads({0, 2, 0});
  boolean("rope.scaling.finetuned", false);
  const ModelConfig granite = config();
  EXPECT_TRUE(granite.rope.still);
  EXPECT_EQ(granite.ssm.head_dim, 16);
  EXPECT_EQ(granite.ssm.norm, SsmNorm::kNone);
}

TEST_F(HybridGguf, ImpossibleValuesAreNamed) {
  begin("lfm2");
  kv_heads({0, 2, 0});
  EXPECT_TRUE(has(error(), {"'lfm2.shortconv.l_cache' is missing"}));
  begin("lfm2");
  u32("shortconv.l_cache", 99);
  kv_heads({0, 2, 0});
  EXPECT_TRUE(has(error(), {"lfm2.shortconv.l_cache is 99"}));
  begin("lfm2");
  u32("shortconv.l_cache", 3);
  kv_heads({0, 0, 0});
  EXPECT_TRUE(has(error(), {"lfm2.attention.head_count_kv is 0"}));
  begin("lfm2");
  u32("shortconv.l_cache", 3);
  kv_heads({0, 2});
  EXPECT_TRUE(has(error(), {"lfm2.attention.head_count_kv"}));
  begin_mamba("granitehybrid", 3, 1);
  kv_heads({0, 2, 0});
  EXPECT_TRUE(has(error(), {"granitehybrid.ssm.inner_size is 64, which 3 heads of 21"}));
  begin_mamba("granitehybrid", 4, 2);
  kv_heads({0, 2, 0});
  u32("attention.key_length", 4);
  u32("attention.value_length", 4);
  u32("rope.dimension_count", 2);
  EXPECT_TRUE(has(error(), {"granitehybrid.rope.dimension_count is 2", "use the Hugging Face"}));
  begin_mamba("falcon-h1", 4, 3);
  EXPECT_TRUE(has(error(), {"falcon-h1.ssm.group_count is 3"}));
}

TEST_F(HybridGguf, LayersOfNemotronHaveOnePart) {
  begin_mamba("nemotron_h", 4, 2, false);
  kv_heads({0, 0, 2});
  numbers("feed_forward_length", {0, 4, 0});
  const ModelConfig c = config();
  EXPECT_EQ(c.recurrent, (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_EQ(c.attentive, (std::vector<uint8_t>{0, 0, 1}));
  EXPECT_EQ(c.feed_of(1), FeedKind::kNetwork);
  EXPECT_EQ(c.ffn, 4);
}

}  // namespace
}  // namespace longhaul
