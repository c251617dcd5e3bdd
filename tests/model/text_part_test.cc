// The text model in the folder of a multimodal model: its settings, tensors and adapters.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error_of.h"
#include "format/checkpoint.h"
#include "format/hf_text_part.h"
#include "model/model.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path tiny(const char* name) { return fs::path(LONGHAUL_TEST_DATA) / "tiny_models" / name; }

/// A copy of a tiny folder with changed settings of its text model.
fs::path with_text_config(const char* name, const json& text) {
  const fs::path folder = fs::path(testing::TempDir()) / "text_part";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::copy(tiny(name) / "model.safetensors", folder / "model.safetensors");
  std::ifstream in(tiny(name) / "config.json");
  json config = json::parse(in);
  config["text_config"] = text;
  std::ofstream(folder / "config.json") << config.dump();
  return folder;
}

TEST(TextPart, TensorsHaveTheNamesOfATextModel) {
  const std::string layer = "layers.3.mlp.up_proj.weight";
  for (const char* prefix :
       {"language_model.model.", "model.language_model.", "model.text_model."}) {
    EXPECT_EQ(text_part_name(prefix + layer), "model." + layer);
  }
  EXPECT_EQ(text_part_name("language_model.lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(text_part_name("lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(text_part_name("vision_tower.layers.0.mlp.up_proj.weight"), std::nullopt);
  EXPECT_EQ(text_part_name("model.vision_tower.ln_pre.weight"), std::nullopt);
}

TEST(TextPart, ItsSettingsStandBeforeThoseOfTheWhole) {
  json config = {{"model_type", "gemma3"},
                 {"eos_token_id", {1, 106}},
                 {"text_config", {{"model_type", "gemma3_text"}, {"hidden_size", 2560}}}};
  EXPECT_TRUE(take_text_config(config));
  EXPECT_EQ(
      config,
      json({{"model_type", "gemma3_text"}, {"eos_token_id", {1, 106}}, {"hidden_size", 2560}}));
  EXPECT_FALSE(take_text_config(config));
}

TEST(TextPart, OtherPartsAreLeftOut) {
  const Checkpoint whole = open_checkpoint(tiny("gemma3_images"));
  EXPECT_EQ(whole.tensors().size(), 41u);
  EXPECT_EQ(whole.left_out(), 23u);
  EXPECT_NE(whole.find("model.embed_tokens.weight"), nullptr);
  EXPECT_EQ(load_model(whole).config.architecture, "gemma3_text");
  EXPECT_EQ(open_checkpoint(tiny("gemma3")).left_out(), 0u);
}

/// The configuration of Gemma 3 4B's folder. Other values are defaults of transformers.
TEST(TextPart, GemmasFolderNamesWhatDiffersOnly) {
  const fs::path folder = with_text_config(
      "gemma3_images", {{"model_type", "gemma3_text"},
                        {"hidden_size", 2560},
                        {"intermediate_size", 10240},
                        {"num_hidden_layers", 34},
                        {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                        {"sliding_window", 1024}});
  const ModelConfig c = read_config(open_checkpoint(folder));
  EXPECT_EQ(c.heads, 8);
  EXPECT_EQ(c.kv_heads.front(), 4);
  EXPECT_EQ(c.head_dim, 256);
  EXPECT_EQ(c.vocab, 262208);
  EXPECT_EQ(c.trained_context, 131072);
  EXPECT_EQ(c.rope.base, 1e6);
  EXPECT_EQ(c.rope.factor, 8);
  EXPECT_EQ(c.other_rope.base, 1e4);
  EXPECT_EQ(c.window[4], 1024);
  EXPECT_EQ(c.window[5], 0);
  EXPECT_FLOAT_EQ(c.attention_scale, 1.0f / 16);
}

TEST(TextPart, ATextModelThatIsNotKnownIsNamed) {
  const fs::path folder = with_text_config("gemma3_images", {{"model_type", "mamba"}});
  const std::string error =
      testing_support::error_of([&] { read_config(open_checkpoint(folder)); });
  EXPECT_NE(error.find("model_type is 'mamba'"), std::string::npos) << error;
}

}  // namespace
}  // namespace longhaul
