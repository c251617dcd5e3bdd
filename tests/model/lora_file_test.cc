// Refusals of an adapter's file, and the effect of its metadata on the model.

#include "model/lora_file.h"

#include <gtest/gtest.h>

#include "format/gguf_builder.h"
#include "format/safetensors_builder.h"
#include "format/temp_folder.h"
#include "model/gguf_model.h"
#include "model/lora.h"

namespace longhaul {
namespace {

using testing_support::entry;
using testing_support::error_of;
using testing_support::GgufBuilder;
using testing_support::GgufModel;
using testing_support::has;
using testing_support::header_of;
using testing_support::kF32;
using testing_support::kHidden;
using testing_support::safetensors;
using testing_support::TempFolder;

GgufBuilder adapter(const std::string& family = "llama", float alpha = 4) {
  GgufBuilder file;
  file.text("general.architecture", family).text("general.type", "adapter");
  file.text("adapter.type", "lora").number("adapter.lora.alpha", GgufType::kF32, alpha);
  return file;
}

void add_pair(GgufBuilder& file, const std::string& matrix, uint64_t inputs, uint64_t outputs,
              uint64_t rank) {
  file.tensor(matrix + ".weight.lora_a", {inputs, rank}, kF32, inputs * rank * 4);
  file.tensor(matrix + ".weight.lora_b", {rank, outputs}, kF32, rank * outputs * 4);
}

std::string open_error(const GgufBuilder& file) {
  const TempFolder folder;
  const auto path = folder.write("lora.gguf", file.build());
  return error_of([&] { LoraFile::open(path); });
}

TEST(LoraFile, ScaleFollowsAlphaAndRank) {
  const TempFolder folder;
  for (const auto& [alpha, scale] : {std::pair(4.0f, 2.0), {0.0f, 1.0}}) {
    GgufBuilder file = adapter("llama", alpha);
    add_pair(file, "blk.0.attn_q", 8, 8, 2);
    const LoraFile lora = LoraFile::open(folder.write("lora.gguf", file.build()));
    EXPECT_EQ(lora.scale(lora.factors().at("blk.0.attn_q")), scale);
    EXPECT_EQ(lora.factors().at("blk.0.attn_q").b.rows(), 8);
    EXPECT_EQ(lora.bytes(), 2u * 8 * 2 * 4);
  }
}

TEST(LoraFile, RefusesWhatIsNoLora) {
  GgufBuilder model;
  model.text("general.architecture", "llama");
  EXPECT_TRUE(has(open_error(model), {"general.type", "'model'", "-m"}));
  GgufBuilder other;
  other.text("general.architecture", "llama").text("general.type", "adapter");
  other.text("adapter.type", "control");
  EXPECT_TRUE(has(open_error(other), {"adapter.type", "'control'", "lora"}));
  EXPECT_TRUE(has(open_error(adapter()), {"no adapter of any matrix"}));

  GgufBuilder half = adapter();
  half.tensor("blk.0.attn_q.weight.lora_a", {8, 2}, kF32, 64);
  EXPECT_TRUE(has(open_error(half), {"'blk.0.attn_q'", "factor A but not B"}));
  GgufBuilder ranks = adapter();
  ranks.tensor("blk.0.attn_q.weight.lora_a", {8, 2}, kF32, 64);
  ranks.tensor("blk.0.attn_q.weight.lora_b", {3, 8}, kF32, 96);
  EXPECT_TRUE(has(open_error(ranks), {"[2, 8]", "[8, 3]", "ranks differ"}));
  GgufBuilder norm = adapter();
  norm.tensor("blk.0.attn_norm.weight", {8}, kF32, 32);
  EXPECT_TRUE(has(open_error(norm), {"'blk.0.attn_norm.weight'", "neither a lora_a"}));
}

std::string peft_error(const std::string& config) {
  const TempFolder folder;
  folder.write("adapter_config.json", config);
  folder.write(
      "adapter_model.safetensors",
      safetensors(header_of({entry("base_model.model.x.lora_A.weight", "F32", "[1,1]", 0, 4),
                             entry("base_model.model.x.lora_B.weight", "F32", "[1,1]", 4, 8)}),
                  std::string(8, '\0')));
  return error_of([&] { LoraFile::open(folder.path()); });
}

TEST(LoraFile, RefusesOtherKindsOfPeft) {
  EXPECT_TRUE(has(peft_error(R"({"peft_type":"IA3"})"), {"peft_type", "'IA3'"}));
  EXPECT_TRUE(
      has(peft_error(R"({"peft_type":"LORA","lora_alpha":1,"use_dora":true})"), {"use_dora"}));
  EXPECT_TRUE(
      has(peft_error(R"({"peft_type":"LORA","lora_alpha":1,"bias":"all"})"), {"bias", "'all'"}));
  for (const char* how :
       {"pissa", "pissa_niter_16", "olora", "OLoRA", "corda", "loftq", "lora_ga"}) {
    const std::string error = peft_error(
        fmt::format(R"({{"peft_type":"LORA","lora_alpha":1,"init_lora_weights":"{}"}})", how));
    EXPECT_TRUE(has(error, {"init_lora_weights", how, "path_initial_model_for_weight"})) << error;
  }
  EXPECT_TRUE(has(peft_error(R"({"peft_type":"LORA","lora_alpha":0})"), {"lora_alpha"}));
  const TempFolder empty;
  EXPECT_TRUE(has(error_of([&] { LoraFile::open(empty.path()); }), {"adapter_config.json"}));
}

class LoraOfGguf : public GgufModel {
 protected:
  LoraOfGguf() {
    kv_heads({2, 2, 2});
    weights({2, 2, 2});
  }
  Model attach(const std::vector<GgufBuilder>& files) {
    std::vector<WeightedLora> adapters;
    for (size_t i = 0; i < files.size(); ++i) {
      const auto path = folder_.write(fmt::format("lora{}.gguf", i), files[i].build());
      adapters.push_back({LoraFile::open(path), 1});
    }
    Model model = load();
    attach_adapters(adapters, model);
    return model;
  }

 private:
  TempFolder folder_;
};

TEST_F(LoraOfGguf, AnglesAndTrainedLengthFollowTheAdapter) {
  GgufBuilder file = adapter();
  add_pair(file, "blk.1.ffn_down", 4, kHidden, 2);
  const Model plain = attach({file});
  EXPECT_EQ(plain.shape.trained_context, 64);
  file.number("llama.rope.freq_base", GgufType::kF32, 1e6f).u32("llama.context_length", 4096);
  const Model longer = attach({file});
  EXPECT_EQ(longer.shape.trained_context, 4096);
  EXPECT_EQ(longer.config.rope.base, 1e6);
  EXPECT_EQ(longer.shape.rope.inverse_frequency.size(), plain.shape.rope.inverse_frequency.size());
  EXPECT_EQ(longer.adapters[1].down.rank(), 2);
  EXPECT_TRUE(longer.adapters[0].down.empty());
  EXPECT_EQ(longer.shape.profile_prefix, plain.shape.profile_prefix);
}

TEST_F(LoraOfGguf, RefusesWhatTheModelDoesNotHave) {
  GgufBuilder deep = adapter();
  add_pair(deep, "blk.3.ffn_down", 4, kHidden, 2);
  EXPECT_TRUE(has(error_of([&] { attach({deep}); }), {"'blk.3.ffn_down'", "3 layers"}));
  GgufBuilder wide = adapter();
  add_pair(wide, "blk.0.ffn_down", 4, 9, 2);
  EXPECT_TRUE(has(error_of([&] { attach({wide}); }), {"[9, 4]", "[8, 4]"}));
  GgufBuilder embedding = adapter();
  add_pair(embedding, "token_embd", 6, kHidden, 2);
  EXPECT_TRUE(has(error_of([&] { attach({embedding}); }), {"embedding"}));
  GgufBuilder family = adapter("qwen2");
  add_pair(family, "blk.0.ffn_down", 4, kHidden, 2);
  EXPECT_TRUE(has(error_of([&] { attach({family}); }), {"'qwen2'", "llama model"}));
}

TEST_F(LoraOfGguf, TwoThatWantDifferentAnglesAreRefused) {
  GgufBuilder one = adapter(), other = adapter();
  one.number("llama.rope.freq_base", GgufType::kF32, 1e6f);
  other.number("llama.rope.freq_base", GgufType::kF32, 2e6f);
  add_pair(one, "blk.0.ffn_down", 4, kHidden, 2);
  add_pair(other, "blk.0.ffn_up", kHidden, 4, 2);
  EXPECT_TRUE(has(error_of([&] {
                    attach({one, other});
                  }),
                  {"RoPE base", "lora0.gguf", "lora1.gguf"}));
}

TEST_F(LoraOfGguf, AnAdapterIsNoModel) {
  const TempFolder folder;
  GgufBuilder file = adapter();
  add_pair(file, "blk.0.ffn_down", 4, kHidden, 2);
  const Checkpoint checkpoint = open_checkpoint(folder.write("lora.gguf", file.build()));
  EXPECT_TRUE(has(error_of([&] { read_config(checkpoint); }), {"lora.gguf", "--lora"}));
}

}  // namespace
}  // namespace longhaul
