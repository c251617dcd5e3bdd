// Configurations of models with latent attention, and impossible values of their keys.

#include "model/latent_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/gguf_model.h"
#include "model/tiny_config.h"

namespace longhaul {
namespace {

using nlohmann::json;
using testing_support::error_of;
using testing_support::has;

class LatentConfig : public testing_support::TinyConfig {
 protected:
  void expect_error(const std::string& model, const json& values, const char* said) {
    const std::string found = error_of([&] { with(model, values); });
    EXPECT_TRUE(has(found, {"config.json", said})) << found;
  }
};

TEST_F(LatentConfig, AllQueryHeadsShareOneRow) {
  const ModelConfig c = with("deepseek_v3", json::object());
  EXPECT_EQ(c.kv_heads, (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(c.head_dim, 48);
  EXPECT_EQ(c.rope.rotary_dim, 16);
  EXPECT_EQ(c.beyond_plain(), "experts");
  EXPECT_EQ(with("youtu", json::object()).beyond_plain(), "latent keys and values");
  EXPECT_TRUE(c.shape().values_in_keys);
  EXPECT_EQ(c.expert_groups, 4);
  EXPECT_EQ(c.groups_used, 2);
  EXPECT_FALSE(c.best_of_group);
  const double magnitude = 0.1 * std::log(4.0) + 1;
  EXPECT_NEAR(c.shape().scale, magnitude * magnitude / std::sqrt(48), 1e-6);
  EXPECT_EQ(c.shape().rope.attention_factor, 1) << "the magnitude is in the factor of q . k";
}

TEST_F(LatentConfig, FamiliesDifferInTheirExperts) {
  EXPECT_TRUE(with("deepseek_v2", json::object()).best_of_group);
  EXPECT_EQ(with("deepseek_v2", {{"topk_method", "greedy"}}).expert_groups, 1);
  const ModelConfig kimi =
      with("deepseek_v3", {{"model_type", "kimi_k2"}, {"n_group", 1}, {"topk_group", 1}});
  EXPECT_EQ(kimi.expert_groups, 1);
  EXPECT_TRUE(kimi.expert_sigmoid);
  EXPECT_EQ(with("glm4_moe_lite", json::object()).dense_layers, 1);
  EXPECT_EQ(with("glm4_moe_lite", {{"mlp_layer_types", nullptr}, {"first_k_dense_replace", 2}})
                .dense_layers,
            2);
  EXPECT_EQ(with("youtu", json::object()).experts, 0);
  EXPECT_FLOAT_EQ(with("mistral4", json::object()).temperature_scale, 0.1f);
}

TEST_F(LatentConfig, ImpossibleValuesAreNamed) {
  expect_error("deepseek_v3", {{"kv_lora_rank", 0}}, "'kv_lora_rank' is 0");
  expect_error("deepseek_v3", {{"kv_lora_rank", 4096}}, "kv_lora_rank is 4096");
  expect_error("deepseek_v3", {{"qk_rope_head_dim", 0}}, "qk_rope_head_dim is 0");
  expect_error("deepseek_v3", {{"qk_rope_head_dim", 7}}, "is 7");
  expect_error("deepseek_v3", {{"v_head_dim", 0}}, "v_head_dim is 0");
  expect_error("deepseek_v3", {{"attention_bias", true}}, "attention_bias is true");
  expect_error("deepseek_v3", {{"n_group", 3}}, "n_group is 3, which 8 experts cannot fill evenly");
  expect_error("deepseek_v3", {{"n_group", 0}}, "n_group is 0");
  expect_error("deepseek_v3", {{"topk_group", 5}}, "topk_group is 5: of 4 groups of 2 experts");
  expect_error("deepseek_v3", {{"topk_group", 1}},
               "topk_group is 1: of 4 groups of 2 experts a row");
  expect_error("glm4_moe_lite", {{"mlp_layer_types", {"sparse", "dense", "sparse"}}},
               "'mlp_layer_types'");
  expect_error("glm4_moe_lite", {{"mlp_layer_types", {"dense"}}}, "'mlp_layer_types'");
}

class GgufLatent : public testing_support::GgufModel {
 protected:
  void begin_latent() {
    begin("deepseek2");
    u32("attention.head_count_kv", 1);
    u32("attention.kv_lora_rank", 4);
    u32("rope.dimension_count", 2);
    u32("attention.value_length_mla", 3);
  }
};

TEST_F(GgufLatent, SizesOfHeadsAreThoseOfTheWholeModel) {
  begin_latent();
  EXPECT_TRUE(has(error_of([&] { config(); }), {"deepseek2.attention.key_length_mla is missing"}));
  u32("attention.key_length_mla", 2);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"key_length_mla is 2, expected more than"}));
  begin_latent();
  u32("attention.key_length_mla", 7);
  const ModelConfig c = config();
  EXPECT_EQ(c.head_dim, 6);
  EXPECT_EQ(c.latent.plain, 5);
  EXPECT_EQ(c.kv_heads, (std::vector<int>{1, 1, 1}));
  EXPECT_FLOAT_EQ(c.shape().scale, 1 / std::sqrt(7.0f));
}

}  // namespace
}  // namespace longhaul
