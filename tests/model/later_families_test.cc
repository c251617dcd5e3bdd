// Configurations of families with names of their own (InternLM 3, EXAONE MoE, Solar Open, Hy3,
// Hunyuan, Llama 4, gpt-oss as a folder), and impossible values of their keys.

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

class LaterFolders : public testing_support::TinyConfig {
 protected:
  void expect_error(const std::string& model, const json& values, const char* said) {
    const std::string found = error_of([&] { with(model, values); });
    EXPECT_TRUE(has(found, {"config.json", said})) << found;
  }
};

TEST_F(LaterFolders, NamesOfTheirOwnMeanTheUsualKeys) {
  const ModelConfig exaone = with("exaone_moe", {{"num_shared_experts", 2}});
  EXPECT_EQ(exaone.shared_ffn, 2 * exaone.ffn);
  EXPECT_EQ(exaone.dense_layers, 1);
  EXPECT_EQ(exaone.window, (std::vector<int64_t>{24, 24, 24, 0}));
  EXPECT_EQ(exaone.other_angles, (std::vector<uint8_t>{0, 0, 0, 1})) << "full layers do not rotate";
  EXPECT_EQ(with("hy_v3", {{"router_scaling_factor", 1.5}}).expert_scale, 1.5f);
  EXPECT_TRUE(with("internlm3", {{"qkv_bias", true}}).qkv_bias);
  EXPECT_EQ(with("solar_open", json::object()).dense_layers, 0);
  const ModelConfig hunyuan =
      with("hunyuan_moe", {{"moe_topk", {2, 2}}, {"moe_intermediate_size", {32, 32}}});
  EXPECT_EQ(hunyuan.experts_used, 2);
  EXPECT_EQ(hunyuan.shared_ffn, 32);
}

TEST_F(LaterFolders, AlphaIsAFactorOfTheBase) {
  const ModelConfig c = with("hunyuan", {{"rope_scaling", {{"type", "dynamic"}, {"alpha", 50.0}}}});
  EXPECT_NEAR(c.rope.base, 10000 * std::pow(50, 16 / 14.0), 1e-6);
  EXPECT_FALSE(c.rope.depends_on_length());
  EXPECT_TRUE(with("hunyuan", {{"rope_scaling", {{"type", "dynamic"}, {"factor", 2.0}}}})
                  .rope.depends_on_length());
  expect_error("hunyuan", {{"rope_scaling", {{"type", "dynamic"}, {"alpha", -1}}}},
               "rope scaling: 'alpha' is -1, expected a positive number");
  expect_error("llama_linear", {{"rope_scaling", {{"type", "dynamic"}, {"alpha", 50.0}}}},
               "rope scaling: 'alpha' is not supported");
}

TEST_F(LaterFolders, Llama4SeesItsChunksAndGrowsTheOtherQueries) {
  const ModelConfig c = with("llama4", json::object());
  EXPECT_EQ(c.window, (std::vector<int64_t>{24, 24, 24, 0}));
  EXPECT_TRUE(c.shape().chunked);
  EXPECT_EQ(c.shape().first_visible(0, 47), 24);
  EXPECT_EQ(c.shape().first_visible(0, 48), 48);
  EXPECT_EQ(c.shape().first_visible(3, 47), 0);
  EXPECT_EQ(c.query_growth(2).rate, 0);
  EXPECT_FLOAT_EQ(c.query_growth(3).rate, 0.3f);
  EXPECT_EQ(c.query_growth(3).length, 32);
  EXPECT_FALSE(c.has_experts(0));
  EXPECT_TRUE(c.has_experts(1));
  EXPECT_EQ(c.ffn_of(0), 96);
  EXPECT_EQ(c.shared_ffn, 32);
  const ModelConfig usual =
      with("llama4", {{"attention_chunk_size", nullptr}, {"no_rope_layers", json::array()}});
  EXPECT_EQ(usual.window, (std::vector<int64_t>{8192, 8192, 8192, 0}));
  EXPECT_EQ(with("llama4", {{"attn_temperature_tuning", 0}}).query_growth(3).rate, 0);
  EXPECT_EQ(with("llama4", {{"attn_temperature_tuning", 4}}).query_growth(3).length, 32);
}

TEST_F(LaterFolders, ImpossibleValuesAreNamed) {
  expect_error("internlm3", {{"bias", true}}, "bias is true, which is not supported");
  expect_error("exaone_moe", {{"num_experts", 0}}, "'num_experts' is 0, expected at least 1");
  expect_error("exaone_moe", {{"layer_types", {"full_attention"}}},
               "'layer_types' does not list one type for each of 4 layers");
  expect_error("exaone_moe", {{"mlp_layer_types", {"dense", "sparse", "dense", "sparse"}}},
               "'mlp_layer_types' does not list dense layers, then sparse ones, 4 in all");
  expect_error("solar_open", {{"n_group", 2}}, "n_group is 2: groups of experts");
  expect_error("hy_v3", {{"num_experts_per_tok", 9}},
               "num_experts_per_tok is 9, which is outside 1..8");
  expect_error("hy_v3", {{"router_scaling_factor", -1}},
               "router_scaling_factor is -1, expected a positive number");
  expect_error("hy_v3", {{"route_norm", false}}, "route_norm is false");
  expect_error("hunyuan", {{"use_cla", true}}, "use_cla is true");
  expect_error("hunyuan_moe", {{"moe_topk", {1, 2}}},
               "moe_topk differs between layers ('1' and '2')");
  expect_error("hunyuan_moe", {{"moe_topk", 9}}, "moe_topk is 9, which is outside 1..8");
}

TEST_F(LaterFolders, ImpossibleValuesOfLlama4AreNamed) {
  expect_error("llama4", {{"attention_chunk_size", 0}}, "'attention_chunk_size' is 0");
  expect_error("llama4", {{"floor_scale", 0}}, "'floor_scale' is 0");
  expect_error("llama4", {{"attn_scale", -1}}, "'attn_scale' is -1");
  expect_error("llama4", {{"interleave_moe_layer_step", 0}}, "'interleave_moe_layer_step' is 0");
  expect_error("llama4", {{"moe_layers", {0, 3}}}, "moe_layers: layers without experts among");
  expect_error("llama4", {{"num_experts_per_tok", 2}},
               "num_experts_per_tok is 2, which is outside 1..1");
  expect_error("llama4", {{"num_local_experts", 0}}, "'num_local_experts' is 0");
  expect_error("llama4", {{"layer_types", {"chunked_attention", "x", "x", "full_attention"}}},
               "layer_types[1]: '\"x\"' is not supported");
  expect_error("llama4", {{"no_rope_layers", {1, 1}}},
               "'no_rope_layers' does not list 0 or 1 for each of 4 layers");
}

TEST_F(LaterFolders, BlocksOfExpertsFitTheConfiguration) {
  const auto error_with = [&](const json& values) {
    return error_of([&] {
      with("gpt_oss_mxfp4", values);
      load_model(open_checkpoint(folder()));
    });
  };
  with("gpt_oss_mxfp4", json::object());
  EXPECT_EQ(load_model(open_checkpoint(folder())).layers[0].experts[0].gate.type, DType::MXFP4);
  EXPECT_TRUE(has(error_with({{"intermediate_size", 96}}),
                  {"tensor model.layers.0.mlp.experts.gate_up_proj_blocks has shape "
                   "[4, 128, 2, 16], expected [4, 192, 2, 16]"}));
  EXPECT_TRUE(has(error_with({{"quantization_config", {{"quant_method", "fp8"}}}}),
                  {"config.json: quantization_config"}));
}

class LaterGguf : public testing_support::GgufModel {
 protected:
  void experts(uint32_t count, uint32_t used) {
    u32("expert_count", count);
    u32("expert_used_count", used);
    u32("expert_feed_forward_length", 4);
  }
  std::string config_error() const {
    return error_of([&] { config(); });
  }
};

TEST_F(LaterGguf, TensorsShowTheFirstLayerWithExperts) {
  begin("hy_v3");
  experts(4, 2);
  matrix("blk.2.ffn_gate_inp.weight", testing_support::kHidden, 4);
  EXPECT_EQ(config().dense_layers, 2);
  u32("leading_dense_block_count", 1);
  EXPECT_EQ(config().dense_layers, 1);
}

TEST_F(LaterGguf, ListsOfWindowsMayLeaveOutLayersThatPredictFurtherTokens) {
  begin("exaone-moe");
  experts(4, 2);
  u32("attention.sliding_window", 24);
  u32("nextn_predict_layers", 1);
  flags("attention.sliding_window_pattern", {true, false});
  EXPECT_EQ(config().window, (std::vector<int64_t>{24, 0}));
  begin("exaone-moe");
  experts(4, 2);
  u32("attention.sliding_window", 24);
  flags("attention.sliding_window_pattern", {true, false});
  EXPECT_TRUE(has(config_error(),
                  {"m.gguf: exaone-moe.attention.sliding_window_pattern is not a flag for each"}));
}

TEST_F(LaterGguf, Llama4HasChunksOf8192) {
  begin("llama4");
  experts(4, 1);
  EXPECT_TRUE(has(config_error(), {"m.gguf", "llama4.interleave_moe_layer_step"}));
  u32("interleave_moe_layer_step", 4);
  EXPECT_TRUE(has(config_error(), {"llama4.interleave_moe_layer_step is 4, expected 1 to 3"}));
  begin("llama4");
  experts(4, 1);
  u32("interleave_moe_layer_step", 2);
  const ModelConfig c = config();
  EXPECT_EQ(c.window, (std::vector<int64_t>{8192, 8192, 8192}));
  EXPECT_TRUE(c.chunked && c.plain_qk_norm);
  EXPECT_TRUE(c.has_experts(1));
  EXPECT_FALSE(c.has_experts(2));
  EXPECT_EQ(c.shared_ffn, 4);
  u32("attention.sliding_window", 0);
  EXPECT_TRUE(has(config_error(), {"llama4.attention.sliding_window is 0"}));
  begin("llama4");
  experts(128, 1);
  u32("interleave_moe_layer_step", 2);
  EXPECT_EQ(config().qk_norm, QkNorm::kNone);
}

}  // namespace
}  // namespace longhaul
