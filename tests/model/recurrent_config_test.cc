// Configurations of models with recurrent layers, and impossible values of their keys.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "format/checkpoint.h"
#include "format/temp_folder.h"
#include "model/config.h"
#include "model/gguf_model.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

using testing_support::error_of;
using testing_support::has;

class RecurrentConfig : public testing::Test {
 protected:
  /// The configuration of the tiny model qwen3_5 with other values.
  ModelConfig with(const nlohmann::json& values) {
    const fs::path from = fs::path(LONGHAUL_TEST_DATA) / "tiny_models/qwen3_5";
    std::ifstream in(from / "config.json");
    nlohmann::json config = nlohmann::json::parse(in);
    config.update(values);
    for (auto it = config.begin(); it != config.end();)
      it = it->is_null() ? config.erase(it) : ++it;
    folder_.write("config.json", config.dump());
    if (!fs::exists(folder_.path() / "model.safetensors")) {
      fs::copy_file(from / "model.safetensors", folder_.path() / "model.safetensors");
      fs::copy_file(from / "tokenizer.json", folder_.path() / "tokenizer.json");
    }
    return read_config(open_checkpoint(folder_.path()));
  }
  std::string error(const nlohmann::json& values) {
    return error_of([&] { with(values); });
  }

  testing_support::TempFolder folder_;
};

TEST_F(RecurrentConfig, EveryFourthLayerHasAttentionByDefault) {
  const ModelConfig c = with({{"layer_types", nullptr}});
  EXPECT_EQ(c.recurrent, (std::vector<uint8_t>{1, 1, 1, 0, 1}));
  EXPECT_EQ(c.shape().layers, 1);
  EXPECT_TRUE(c.output_gate);
  EXPECT_EQ(c.rope.rotary_dim, 8);
  EXPECT_EQ(with({{"layer_types", nullptr}, {"full_attention_interval", 2}}).recurrent,
            (std::vector<uint8_t>{1, 0, 1, 0, 1}));
}

TEST_F(RecurrentConfig, ImpossibleValuesAreNamed) {
  EXPECT_TRUE(has(error({{"layer_types", {"linear_attention"}}}), {"'layer_types'"}));
  EXPECT_TRUE(has(error({{"layer_types",
                          {"full_attention", "linear_attention", "mamba", "full_attention",
                           "full_attention"}}}),
                  {"layer_types[2]"}));
  EXPECT_TRUE(has(error({{"layer_types", nullptr}, {"full_attention_interval", 0}}),
                  {"'full_attention_interval' is 0"}));
  EXPECT_TRUE(has(error({{"layer_types", nullptr}, {"full_attention_interval", 9}}),
                  {"full_attention_interval names no layer with attention"}));
  EXPECT_TRUE(has(error({{"linear_num_key_heads", 3}}),
                  {"linear_num_value_heads is 4, which 3 key heads cannot share evenly"}));
  EXPECT_TRUE(has(error({{"linear_num_value_heads", 0}}), {"linear_num_value_heads is 0"}));
  EXPECT_TRUE(has(error({{"linear_value_head_dim", 24}}), {"linear_value_head_dim is 24"}));
  EXPECT_TRUE(has(error({{"linear_key_head_dim", 4096}}), {"linear_key_head_dim is 4096"}));
  EXPECT_TRUE(has(error({{"linear_conv_kernel_dim", 0}}), {"linear_conv_kernel_dim is 0"}));
}

class RecurrentGguf : public testing_support::GgufModel {
 protected:
  void begin_hybrid(uint32_t inner, uint32_t every) {
    begin("qwen35");
    u32("ssm.group_count", 2);
    u32("ssm.time_step_rank", 4);
    u32("ssm.state_size", 16);
    u32("ssm.inner_size", inner);
    u32("ssm.conv_kernel", 4);
    u32("full_attention_interval", every);
  }
};

TEST_F(RecurrentGguf, ValueHeadsAreTiled) {
  begin_hybrid(64, 2);
  const ModelConfig c = config();
  EXPECT_TRUE(c.delta.tiled);
  EXPECT_EQ(c.delta.value_dim, 16);
  EXPECT_EQ(c.delta.key_head(3), 1);
  EXPECT_EQ(c.recurrent, (std::vector<uint8_t>{1, 0, 1}));
}

TEST_F(RecurrentGguf, ImpossibleValuesAreNamed) {
  begin_hybrid(66, 2);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"qwen35.ssm.inner_size is 66"}));
  begin_hybrid(64, 0);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"qwen35.full_attention_interval is 0"}));
}

}  // namespace
}  // namespace longhaul
