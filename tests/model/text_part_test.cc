// The text model in the folder of a multimodal model: its settings, tensors and adapters.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/error_of.h"
#include "format/checkpoint.h"
#include "format/hf_text_part.h"
#include "format/safetensors_builder.h"
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
  for (const char* prefix : {"language_model.model.", "model.language_model.", "model.text_model.",
                             "model.", "language_model.", "model.language_model.model."}) {
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
  EXPECT_EQ(config, json({{"model_type", "gemma3_text"},
                          {"eos_token_id", {1, 106}},
                          {"hidden_size", 2560},
                          {"tie_word_embeddings", true}}));
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

/// The tiny Qwen2 as the text model of Qwen2.5-VL, whose text has the same arithmetic: `text` are
/// its settings.
fs::path as_qwen_vl(const std::function<void(json& config, const json& text)>& settle) {
  const fs::path folder = fs::path(testing::TempDir()) / "qwen_vl";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::copy(tiny("qwen2") / "model.safetensors", folder / "text.safetensors");
  std::ofstream(folder / "image.safetensors") << testing_support::safetensors(
      testing_support::header_of(
          {testing_support::entry("visual.blocks.0.norm1.weight", "F32", "[2]", 0, 8)}),
      std::string(8, '\0'));
  const Checkpoint text = open_checkpoint(tiny("qwen2"));
  json map = {{"visual.blocks.0.norm1.weight", "image.safetensors"}};
  for (const TensorView& t : text.tensors()) map[t.name] = "text.safetensors";
  std::ofstream(folder / "model.safetensors.index.json") << json{{"weight_map", map}}.dump();
  json config = {{"model_type", "qwen2_5_vl"},
                 {"vision_config", {{"model_type", "qwen2_5_vl_vision"}, {"hidden_size", 9}}}};
  settle(config, text.hf().config);
  std::ofstream(folder / "config.json") << config.dump();
  return folder;
}

TEST(TextPart, BothLayoutsOfQwen25Vl) {
  const ModelConfig plain = read_config(open_checkpoint(tiny("qwen2")));
  const auto settings = [](const json& text) {
    json own = text;
    own.erase("rope_theta");
    return own;
  };
  const auto flat = [&](json& config, const json& text) {
    json all = settings(text);
    all.update(config);
    config = all;
    config["rope_scaling"] = {{"type", "mrope"}, {"mrope_section", {2, 3, 3}}};
    config["rope_theta"] = plain.rope.base;
  };
  const auto nested = [&](json& config, const json& text) {
    config["text_config"] = settings(text);
    config["text_config"]["model_type"] = "qwen2_5_vl_text";
    config["text_config"]["rope_parameters"] = {
        {"rope_type", "default"}, {"mrope_section", {2, 3, 3}}, {"rope_theta", plain.rope.base}};
  };
  for (const auto& layout : std::vector<std::function<void(json&, const json&)>>{flat, nested}) {
    const Checkpoint checkpoint = open_checkpoint(as_qwen_vl(layout));
    EXPECT_EQ(checkpoint.left_out(), 1u);
    const Model model = load_model(checkpoint);
    EXPECT_EQ(model.config.architecture, "qwen2_5_vl_text");
    EXPECT_EQ(model.config.rope.base, plain.rope.base);
    EXPECT_EQ(model.config.rope.rotary_dim, plain.rope.rotary_dim);
    EXPECT_EQ(model.config.window, plain.window);
  }
}

/// Files of transformers 5 say of the whole model whether the embedding is the output matrix too.
TEST(TextPart, TheWholeModelMayTieTheEnds) {
  const auto tied = [](const json& whole, const json& text) {
    json config = whole;
    config["text_config"] = text;
    take_text_config(config);
    return config.value("tie_word_embeddings", json());
  };
  const json yes = {{"tie_word_embeddings", true}}, no = {{"tie_word_embeddings", false}};
  const json gemma = {{"model_type", "gemma3"}}, none = json::object();
  EXPECT_EQ(tied(yes, no), true);
  EXPECT_EQ(tied(yes, none), true);
  EXPECT_EQ(tied(no, yes), true) << "older files say it of the text model";
  EXPECT_EQ(tied(no, none), false);
  EXPECT_EQ(tied(none, no), false);
  EXPECT_EQ(tied(gemma, no), true) << "as its configuration's default says";
}

}  // namespace
}  // namespace longhaul
