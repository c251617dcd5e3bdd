// Errors in a model are reported in one line with the file and the key or tensor.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error_of.h"
#include "format/checkpoint.h"
#include "format/safetensors_builder.h"
#include "model/gguf_model.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_support::error_if_any;
using testing_support::error_of;

void load(const fs::path& model) {
  const Checkpoint checkpoint = open_checkpoint(model);
  load_model(checkpoint);
}

class LoadModelTest : public testing::Test {
 protected:
  /// A copy of a tiny model with config.json changed by `edit`.
  fs::path edited(const std::string& name, const std::function<void(json&)>& edit) {
    const fs::path from = fs::path(LONGHAUL_TEST_DATA) / "tiny_models" / name;
    folder_ = fs::path(testing::TempDir()) /
              ("load_model_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    fs::copy(from / "model.safetensors", folder_ / "model.safetensors");
    std::ifstream in(from / "config.json");
    json config = json::parse(in);
    edit(config);
    std::ofstream(folder_ / "config.json") << config.dump();
    return folder_;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string error_with(const std::string& name, const std::function<void(json&)>& edit) {
    const fs::path model = edited(name, edit);
    return error_of([&] { load(model); });
  }

  /// The error of loading a copy of the model in which `tensor` is renamed.
  std::string error_without(
      const std::string& name, const std::string& tensor,
      const std::function<void(json&)>& edit = [](json&) {}) {
    const fs::path model = edited(name, edit);
    return error_without_in(model / "model.safetensors", tensor, model);
  }
  std::string gguf_error_without(const std::string& name, const std::string& tensor) {
    const fs::path file = edited("qwen2", [](json&) {}) / (name + ".gguf");
    fs::copy(fs::path(LONGHAUL_TEST_DATA) / "tiny_models/gguf" / file.filename(), file);
    return error_without_in(file, tensor, file);
  }
  /// The error of loading a copy of the model with an additional tensor of two elements.
  std::string error_with_further(const std::string& name, const std::string& tensor,
                                 const char* type) {
    const fs::path model = edited(name, [](json&) {});
    fs::rename(model / "model.safetensors", model / "first.safetensors");
    const json map = {{"model.norm.weight", "first.safetensors"}, {tensor, "further.safetensors"}};
    std::ofstream(model / "model.safetensors.index.json") << json{{"weight_map", map}};
    const uint64_t bytes = std::string(type) == "F64" ? 16 : 8;
    const auto header =
        testing_support::header_of({testing_support::entry(tensor, type, "[2]", 0, bytes)});
    std::ofstream(model / "further.safetensors", std::ios::binary)
        << testing_support::safetensors(header, std::string(bytes, '\0'));
    return error_if_any([&] { load(model); });
  }
  static std::string error_without_in(const fs::path& file, const std::string& tensor,
                                      const fs::path& model) {
    std::ifstream in(file, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const size_t at = bytes.find(tensor);
    EXPECT_NE(at, std::string::npos);
    bytes[at] = '_';
    std::ofstream(file, std::ios::binary) << bytes;
    return error_if_any([&] { load(model); });
  }

  static void expect_names(const std::string& error, std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
      EXPECT_NE(error.find(part), std::string::npos) << part << " in: " << error;
    }
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }

  fs::path folder_;
};

TEST_F(LoadModelTest, UnknownFamilyActivationAndScaling) {
  expect_names(error_with("qwen2", [](json& c) { c["model_type"] = "gemma"; }),
               {"config.json", "model_type", "gemma", "supported"});
  expect_names(error_with("qwen2", [](json& c) { c["hidden_act"] = "gelu"; }),
               {"hidden_act", "gelu"});
  expect_names(
      error_with("llama_llama3", [](json& c) { c["rope_scaling"]["rope_type"] = "magic"; }),
      {"rope scaling", "magic"});
}

TEST_F(LoadModelTest, MissingWrongAndHugeNumbers) {
  expect_names(error_with("qwen2", [](json& c) { c.erase("hidden_size"); }),
               {"hidden_size", "missing"});
  expect_names(error_with("qwen2", [](json& c) { c["num_hidden_layers"] = "two"; }),
               {"num_hidden_layers", "two"});
  expect_names(error_with("qwen2", [](json& c) { c["num_hidden_layers"] = 1e18; }),
               {"num_hidden_layers"});
  expect_names(error_with("qwen2", [](json& c) { c["num_hidden_layers"] = -1; }),
               {"num_hidden_layers", "-1"});
  expect_names(error_with("qwen2", [](json& c) { c["num_attention_heads"] = 0; }),
               {"config.json: num_attention_heads is 0"});
  expect_names(error_with("qwen2", [](json& c) { c["num_key_value_heads"] = 3; }),
               {"config.json: num_key_value_heads is 3", "4 query heads"});
  expect_names(error_with("qwen2", [](json& c) { c["hidden_size"] = 3; }),
               {"config.json: hidden_size / num_attention_heads is 0"});
  expect_names(error_with("phi3", [](json& c) { c["partial_rotary_factor"] = 0.72; }),
               {"config.json: hidden_size / num_attention_heads * partial_rotary_factor is 23"});
  expect_names(error_with("qwen2", [](json& c) { c["rope_theta"] = -1; }),
               {"config.json: rope_theta is -1"});
  expect_names(error_with("qwen2", [](json& c) { c["rms_norm_eps"] = 2; }),
               {"config.json: rms_norm_eps is 2"});
  expect_names(error_with("llama_linear", [](json& c) { c["rope_scaling"]["factor"] = 0; }),
               {"factor", "0"});
  for (const double length : {-1.0, 1e300}) {
    expect_names(error_with("llama_llama3",
                            [&](json& c) {
                              c["rope_scaling"]["original_max_position_embeddings"] = length;
                            }),
                 {"config.json", "original_max_position_embeddings"});
  }
  for (const double share : {-0.5, 0.0, 1.5, 1e300}) {
    expect_names(error_with("llama_linear", [&](json& c) { c["partial_rotary_factor"] = share; }),
                 {"config.json", "partial_rotary_factor"});
  }
  expect_names(error_with("llama_linear", [](json& c) { c["rope_scaling"] = 3; }),
               {"rope scaling"});
}

TEST_F(LoadModelTest, WrongShapesNameTheTensor) {
  expect_names(error_with("qwen2", [](json& c) { c["intermediate_size"] = 48; }),
               {"mlp.gate_proj.weight", "[32, 64]", "[48, 64]"});
  expect_names(error_with("qwen2", [](json& c) { c["num_hidden_layers"] = 3; }),
               {"model.layers.2", "input_layernorm"});
  expect_names(error_with("qwen2", [](json& c) { c["vocab_size"] = 999; }),
               {"model.embed_tokens.weight"});
}

TEST_F(LoadModelTest, TensorsThatTheFamilyNeedsAreNamedWhenMissing) {
  for (const char* tensor :
       {"model.layers.0.self_attn.q_proj.bias", "model.layers.1.self_attn.k_proj.bias",
        "model.layers.1.self_attn.v_proj.bias"}) {
    const std::string error = error_without("qwen2", tensor);
    expect_names(error, {folder_.c_str(), tensor, "missing"});
  }
  expect_names(gguf_error_without("qwen2", "blk.1.attn_k.bias"),
               {"qwen2.gguf", "blk.1.attn_k.bias", "missing"});
  expect_names(error_with("llama_linear", [](json& c) { c["attention_bias"] = true; }),
               {"model.layers.0.self_attn.q_proj.bias", "missing"});
}

TEST_F(LoadModelTest, TensorsThatNothingUsesAreRefused) {
  expect_names(error_with("qwen2", [](json& c) { c["num_hidden_layers"] = 1; }),
               {"load_model_TensorsThat", "'model.layers.1.",
                "more are not part of a qwen2 model of 1 layer"});
  const auto layer_0 = [](const char* name) { return fmt::format("model.layers.0.{}", name); };
  for (const std::string& tensor :
       {layer_0("self_attn.q_norm.weight"), layer_0("self_attn.masked_bias")}) {
    expect_names(error_with_further("llama_linear", tensor, "F32"),
                 {tensor.c_str(), "is not part of a llama model of 2 layers"});
  }
  expect_names(error_with_further("qwen2", "mtp.weight", "F64"), {"'mtp.weight' is not part of"});
  const std::string inverse = layer_0("self_attn.rotary_emb.inv_freq");
  EXPECT_EQ(error_with_further("llama_linear", inverse, "F32"), "");
  EXPECT_EQ(error_with_further("llama_linear", inverse, "F64"), "") << "not readable";
  EXPECT_EQ(error_with_further("llama_linear", "model.rotary_emb.inv_freq", "F32"), "");
}

TEST_F(LoadModelTest, KeysOfOtherArithmeticMustBeNeutral) {
  struct Key {
    const char* name;
    json neutral, other;
  };
  const Key keys[] = {{"attn_logit_softcapping", nullptr, 50},
                      {"final_logit_softcapping", 0, 30},
                      {"clip_qkv", nullptr, 8},
                      {"logits_scaling", 1.0, 16},
                      {"logit_scale", 1, 0.0625},
                      {"residual_multiplier", 1.0, 0.22},
                      {"embedding_multiplier", 1, 12},
                      {"scale_emb", 1, 12},
                      {"attention_multiplier", 0.25, 0.015625},
                      {"query_pre_attn_scalar", 16, 256},
                      {"alibi", false, true},
                      {"use_bidirectional_attention", false, true},
                      {"is_causal", true, false}};
  for (const Key& key : keys) {
    const auto error = [&](const json& value) {
      const fs::path model = edited("llama_linear", [&](json& c) { c[key.name] = value; });
      return error_if_any([&] { load(model); });
    };
    EXPECT_EQ(error(key.neutral), "");
    expect_names(error(key.other),
                 {fmt::format("config.json: {} is {}", key.name, key.other.dump()).c_str()});
  }
}

TEST_F(LoadModelTest, TextsOfTheFileAreMadeFitForALine) {
  const std::string hostile = "a\nb\x1b[31m", shown = R"('a\x0ab\x1b[31m')";
  expect_names(error_with("qwen2", [&](json& c) { c["model_type"] = hostile; }),
               {"model_type is ", shown.c_str()});
  expect_names(error_with("qwen2", [&](json& c) { c["hidden_act"] = hostile; }),
               {"hidden_act is ", shown.c_str()});
  expect_names(
      error_with("llama_llama3", [&](json& c) { c["rope_scaling"]["rope_type"] = hostile; }),
      {"rope scaling is ", shown.c_str()});
}

TEST_F(LoadModelTest, AnOutputMatrixOfItsOwnIsNeededUnlessTied) {
  expect_names(error_without("qwen2", "lm_head.weight"), {"lm_head.weight", "missing"});
  expect_names(error_with("llama_linear", [](json& c) { c["tie_word_embeddings"] = false; }),
               {"lm_head.weight", "missing"});
  const auto tied = [](json& c) { c["tie_word_embeddings"] = true; };
  const char* renamed = "tensor '_m_head.weight' is not part of";  // nothing is missing
  expect_names(error_without("qwen2", "lm_head.weight", tied), {renamed});
  const auto silent = [](json& c) { c.erase("tie_word_embeddings"); };
  expect_names(error_without("qwen2", "lm_head.weight", silent), {renamed});
}

TEST_F(LoadModelTest, SlidingWindowsFollowTheFamily) {
  const auto windows = [&](const std::string& name, const std::function<void(json&)>& edit) {
    const Checkpoint checkpoint = open_checkpoint(edited(name, edit));
    return read_config(checkpoint).window;
  };
  EXPECT_EQ(windows("mistral", [](json&) {}), (std::vector<int64_t>{24, 24, 24}));
  EXPECT_EQ(windows("qwen2", [](json&) {}), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(windows("qwen2",
                    [](json& c) {
                      c["use_sliding_window"] = true;
                      c["max_window_layers"] = 1;
                      c["sliding_window"] = 99;
                    }),
            (std::vector<int64_t>{0, 99}));
  EXPECT_EQ(windows("mistral",
                    [](json& c) {
                      c["layer_types"] = {"full_attention", "sliding_attention", "full_attention"};
                    }),
            (std::vector<int64_t>{0, 24, 0}));
  expect_names(
      error_with("mistral",
                 [](json& c) {
                   c["layer_types"] = {"full_attention", "chunked_attention", "full_attention"};
                 }),
      {"config.json", "layer_types[1]", "chunked_attention"});
  expect_names(error_with("mistral", [](json& c) { c["model_type"] = "llama"; }),
               {"config.json", "sliding_window is 24", "model_type llama"});
}

/// Norms and biases are small enough to be looked at.
class DamagedVectors : public testing_support::GgufModel {};

TEST_F(DamagedVectors, AreNamed) {
  kv_heads({4, 4, 4});
  weights({4, 4, 4});
  load();
  vector("blk.1.attn_q.bias", testing_support::kHeads * testing_support::kHeadDim, '\xff');
  const std::string error = testing_support::error_of([&] { load(); });
  EXPECT_TRUE(
      testing_support::has(error, {"m.gguf: tensor blk.1.attn_q.bias holds", "nan: it is damaged"}))
      << error;
}

}  // namespace
}  // namespace longhaul
