// Configurations of models whose layers differ (Gemma 4), and impossible values of their keys.

#include "model/layer_kinds.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/gguf_model.h"
#include "model/tiny_config.h"

namespace longhaul {
namespace {

using nlohmann::json;
using testing_support::error_of;
using testing_support::has;

constexpr const char* kWindow = "sliding_attention";
constexpr const char* kFull = "full_attention";

class LayerKinds : public testing_support::TinyConfig {
 protected:
  std::string error(const std::string& model, const json& values) {
    return error_of([&] { with(model, values); });
  }
};

TEST_F(LayerKinds, LastLayersUseTheLastKeysOfTheirKind) {
  ModelConfig c = with("gemma4", json::object());
  EXPECT_EQ(c.kv_layer, (std::vector<int>{0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(c.head_dims, (std::vector<int>{16, 32, 16, 32, 16, 32}));
  EXPECT_EQ(c.dense_ffns, (std::vector<int>{32, 32, 32, 32, 64, 64}));
  EXPECT_EQ(c.head_dim, 32);
  EXPECT_EQ(c.other_rope.rotary_dim, 16);
  EXPECT_EQ(c.shape().dim_of(0), 16);
  EXPECT_EQ(c.shape().scale, 1.0f);
  EXPECT_TRUE(c.lends_kv(3) && !c.lends_kv(1) && c.shares_kv(5) && !c.shares_kv(3));
  c = with("gemma4", {{"num_kv_shared_layers", 3}});
  EXPECT_EQ(c.kv_layer, (std::vector<int>{0, 1, 2, 1, 2, 1}));
}

TEST_F(LayerKinds, BothFormsOfConfigsGiveTheSame) {
  const ModelConfig now = with("gemma4_moe", json::object());
  const ModelConfig before = with(
      "gemma4_moe",
      {{"per_layer_config", nullptr}, {"global_head_dim", 32}, {"num_global_key_value_heads", 1}});
  EXPECT_EQ(now.kv_heads, (std::vector<int>{2, 1, 2, 1, 2, 1}));
  EXPECT_EQ(before.kv_heads, now.kv_heads);
  EXPECT_EQ(before.head_dims, now.head_dims);
  EXPECT_EQ(now.key_values, (std::vector<uint8_t>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(now.experts, 8);
  EXPECT_EQ(now.dense_ffn, 64);
  EXPECT_EQ(with("gemma4_moe", {{"enable_moe_block", false}}).experts, 0);
}

TEST_F(LayerKinds, TheLastLayerSeesEverything) {
  const json types = {kWindow, kFull, kWindow, kFull, kWindow, kWindow};
  EXPECT_EQ(with("gemma4", {{"layer_types", types}}).window.back(), 0) << "as in transformers";
}

TEST_F(LayerKinds, ImpossibleValuesAreNamed) {
  const auto first = [&](const json& values, const char* said) {
    const std::string found = error("gemma4", values);
    EXPECT_TRUE(has(found, {"config.json", said})) << found;
  };
  first({{"num_kv_shared_layers", 5}},
        "num_kv_shared_layers is 5: no earlier layer without a window has keys and values for "
        "layer 1");
  first({{"num_kv_shared_layers", 7}}, "num_kv_shared_layers is 7");
  first({{"layer_types", {kWindow, kFull}}}, "'layer_types' does not list one type for each of 6");
  first({{"layer_types", {kWindow, kFull, "mamba", kFull, kWindow, kFull}}}, "layer_types[2]");
  first({{"global_head_dim", 0}}, "head_dim is 0");
  first({{"global_head_dim", 2048}}, "head_dim is 2048");
  first({{"vocab_size_per_layer_input", 100}}, "vocab_size_per_layer_input is 100, fewer than");
  first({{"hidden_size_per_layer_input", 1 << 20}}, "hidden_size_per_layer_input is 1048576");
  first({{"use_bidirectional_attention", "all"}}, "use_bidirectional_attention is '\"all\"'");
  const auto second = [&](const json& values, const char* said) {
    const std::string found = error("gemma4_moe", values);
    EXPECT_TRUE(has(found, {"config.json", said})) << found;
  };
  second({{"num_experts", 0}}, "num_experts is 0");
  second({{"num_experts", nullptr}}, "num_local_experts");
  second({{"top_k_experts", 9}}, "top_k_experts is 9, which is outside 1..8");
  second({{"per_layer_config", {{"6", {{"head_dim", 32}}}}}}, "'per_layer_config' holds '6'");
  second({{"per_layer_config", {{"x", {{"head_dim", 32}}}}}}, "'per_layer_config' holds 'x'");
  second({{"per_layer_config", {{"1", {{"head_dim", 32}}}, {"3", {{"head_dim", 64}}}}}},
         "per_layer_config[3]: head_dim is 64, unlike that of other layers of its kind");
  second({{"per_layer_config", {{"1", 5}}}}, "'per_layer_config' holds '1'");
}

class GgufLayerKinds : public testing_support::GgufModel {};

TEST_F(GgufLayerKinds, LayersThatShareNeedOneOfTheirKindBefore) {
  begin("gemma4");
  u32("attention.sliding_window", 24);
  u32("attention.sliding_window_pattern", 3);
  u32("attention.key_length", 4);
  u32("attention.value_length", 4);
  u32("attention.key_length_swa", 2);
  u32("attention.value_length_swa", 2);
  ModelConfig c = config();
  EXPECT_EQ(c.head_dims, (std::vector<int>{2, 2, 4}));
  EXPECT_EQ(c.head_dim, 4);
  EXPECT_EQ(c.layer_input, 0);
  u32("attention.shared_kv_layers", 1);
  const std::string found = error_of([&] { config(); });
  EXPECT_TRUE(has(found, {"gemma4.attention.shared_kv_layers is 1", "layer 2"})) << found;
}

TEST_F(GgufLayerKinds, DifferentSizesOfKeysAndValuesAreRefused) {
  begin("gemma4");
  u32("attention.key_length_swa", 2);
  u32("attention.value_length_swa", 4);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"gemma4.attention.value_length_swa is 4"}));
}

}  // namespace
}  // namespace longhaul
