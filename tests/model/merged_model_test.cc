// Contents of a merged file, and models that cannot be merged. For its logits see tests/engine.

#include "model/merged_model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/gguf_model.h"
#include "model/lora_file.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::GgufBuilder;
using testing_support::GgufModel;
using testing_support::has;
using testing_support::kF32;
using testing_support::kFfn;
using testing_support::kHidden;
using testing_support::kPositive;
using testing_support::kVocab;
using testing_support::TempFolder;

class MergeOfGguf : public GgufModel {
 protected:
  MergeOfGguf() { kv_heads({2, 2, 2}); }

  static GgufBuilder lora_of(const std::string& matrix, uint64_t inputs, uint64_t outputs,
                             char fill = kPositive) {
    GgufBuilder file;
    file.text("general.architecture", "llama").text("general.type", "adapter");
    file.text("adapter.type", "lora").number("adapter.lora.alpha", GgufType::kF32, 2.f);
    add(file, matrix, inputs, outputs, fill);
    return file;
  }
  static void add(GgufBuilder& file, const std::string& matrix, uint64_t inputs, uint64_t outputs,
                  char fill = kPositive) {
    file.tensor(matrix + ".weight.lora_a", {inputs, 2}, kF32, inputs * 2 * 4, fill);
    file.tensor(matrix + ".weight.lora_b", {2, outputs}, kF32, 2 * outputs * 4, fill);
  }

  /// The merged file of the model and this adapter.
  Checkpoint merge(const GgufBuilder& lora, std::optional<DType> type = {}) {
    const Checkpoint base = open();
    std::vector<WeightedLora> adapters;
    adapters.push_back({LoraFile::open(merged_.write("lora.gguf", lora.build())), 1});
    std::string file;
    MergedModel(base, adapters, type).write([&](std::span<const std::byte> bytes) {
      file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
    return open_checkpoint(merged_.write("merged.gguf", file));
  }

 private:
  TempFolder merged_;
};

TEST_F(MergeOfGguf, AnglesAndTrainedLengthAreTheAdapters) {
  weights({2, 2, 2});
  GgufBuilder lora = lora_of("blk.1.ffn_down", kFfn, kHidden);
  EXPECT_EQ(read_config(merge(lora)).trained_context, 64);
  EXPECT_FALSE(merge(lora).gguf().contains("llama.rope.freq_base"));
  lora.number("llama.rope.freq_base", GgufType::kF32, 1e6f).u32("llama.context_length", 4096);
  const Checkpoint merged = merge(lora);
  EXPECT_EQ(read_config(merged).trained_context, 4096);
  EXPECT_EQ(read_config(merged).rope.base, 1e6);
  EXPECT_FALSE(merged.gguf().contains("llama.rope.scaling.original_context_length"));
}

TEST_F(MergeOfGguf, WhereTheLengthScalesAnglesTheOldOneIsNamed) {
  weights({2, 2, 2});
  text("rope.scaling.type", "yarn");
  real("rope.scaling.factor", 4);
  GgufBuilder lora = lora_of("blk.1.ffn_down", kFfn, kHidden);
  lora.u32("llama.context_length", 4096);
  const ModelConfig config = read_config(merge(lora));
  EXPECT_EQ(config.trained_context, 4096);
  EXPECT_EQ(config.rope.original_context, 64);
}

TEST_F(MergeOfGguf, IsNoPartOfASet) {
  weights({2, 2, 2});
  number("split.no", 0);
  number("split.count", 1);
  const Checkpoint merged = merge(lora_of("blk.0.attn_v", kHidden, 4));
  EXPECT_FALSE(merged.gguf().contains("split.no"));
  EXPECT_FALSE(merged.gguf().contains("split.count"));
}

TEST_F(MergeOfGguf, AnOutputMatrixThatWasTheEmbeddingIsOneOfItsOwn) {
  weights({2, 2, 2});
  const Checkpoint merged = merge(lora_of("output", kHidden, kVocab));
  const Model model = load_model(merged);
  EXPECT_NE(model.head.data, model.embedding.data);
  const auto first = [](const TensorView& t) {
    float value = 0;
    std::memcpy(&value, t.data, sizeof value);
    return value;
  };
  EXPECT_EQ(first(model.embedding), 0.f);
  float factor = 0;  // four times kPositive
  std::memset(&factor, kPositive, sizeof factor);
  EXPECT_FLOAT_EQ(first(model.head), 2 * factor * factor);  // rank 2, alpha 2
}

TEST_F(MergeOfGguf, TheTypeOfMostWeightsIsNamed) {
  weights({2, 2, 2});
  number("general.file_type", 0);
  GgufBuilder lora = lora_of("blk.1.attn_q", kHidden, kHidden);
  const Checkpoint one = merge(lora, DType::BF16);
  EXPECT_EQ(one.get("blk.1.attn_q.weight").type, DType::BF16);
  EXPECT_EQ(one.get("blk.0.attn_q.weight").type, DType::F32);
  EXPECT_EQ(one.gguf().get_u64("general.file_type"), 0u);
  for (const char* layer : {"blk.0.", "blk.1.", "blk.2."}) {
    add(lora, layer + std::string("attn_output"), kHidden, kHidden);
    add(lora, layer + std::string("ffn_down"), kFfn, kHidden);
    add(lora, layer + std::string("ffn_up"), kHidden, kFfn);
    add(lora, layer + std::string("ffn_gate"), kHidden, kFfn);
    add(lora, layer + std::string("attn_v"), kHidden, 4);
    add(lora, layer + std::string("attn_k"), kHidden, 4);
  }
  EXPECT_EQ(merge(lora).gguf().get_u64("general.file_type"), 0u);
  EXPECT_EQ(merge(lora, DType::F16).gguf().get_u64("general.file_type"), 1u);
}

TEST_F(MergeOfGguf, RefusesWhatNoFileCanHold) {
  weights({2, 2, 2});
  const GgufBuilder lora = lora_of("blk.1.attn_q", kHidden, kHidden);
  EXPECT_TRUE(has(error_of([&] { merge(lora, DType::Q8_0); }),
                  {"m.gguf", "'blk.1.attn_q.weight'", "8 elements", "Q8_0", "--type"}));
  const GgufBuilder wild = lora_of("blk.1.attn_q", kHidden, kHidden, '\x7f');  // 3e38
  EXPECT_TRUE(has(error_of([&] { merge(wild); }), {"'blk.1.attn_q.weight'", "holds inf", "F32"}));
  const GgufBuilder large = lora_of("blk.1.attn_q", kHidden, kHidden, '\x46');  // 12,689
  EXPECT_EQ(merge(large, DType::BF16).get("blk.1.attn_q.weight").type, DType::BF16);
  EXPECT_TRUE(has(error_of([&] { merge(large, DType::F16); }), {"F16 cannot hold"}));
}

}  // namespace
}  // namespace longhaul
