// What a GGUF file's metadata makes of a model: keys that change the arithmetic, and those that
// cannot be honoured.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "format/checkpoint.h"
#include "format/gguf_builder.h"
#include "format/temp_folder.h"
#include "model/model.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::GgufBuilder;
using testing_support::has;
using testing_support::TempFolder;

constexpr uint64_t kHidden = 8, kHeads = 4, kHeadDim = 2, kFfn = 4, kVocab = 6;
constexpr uint32_t kF32 = 0;
constexpr char kPositive = '\x3f';  // four such bytes are the float 0.747

class GgufConfig : public testing::Test {
 protected:
  /// A model of three layers with everything but `attention.head_count_kv`.
  explicit GgufConfig(const std::string& architecture = "llama") { begin(architecture); }

  void begin(const std::string& architecture, uint32_t context = 64) {
    prefix_ = architecture + ".";
    file_ = GgufBuilder();
    file_.text("general.architecture", architecture);
    file_.u32(prefix_ + "block_count", 3).u32(prefix_ + "embedding_length", kHidden);
    file_.u32(prefix_ + "feed_forward_length", kFfn).u32(prefix_ + "context_length", context);
    file_.u32(prefix_ + "attention.head_count", kHeads);
    real("attention.layer_norm_rms_epsilon", 1e-5f);
    matrix("token_embd.weight", kHidden, kVocab);
  }
  void u32(const std::string& key, uint32_t value) { file_.u32(prefix_ + key, value); }
  void u64(const std::string& key, uint64_t value) {
    file_.number(prefix_ + key, GgufType::kU64, value);
  }
  void real(const std::string& key, float value) {
    file_.number(prefix_ + key, GgufType::kF32, value);
  }
  void text(const std::string& key, const std::string& value) { file_.text(prefix_ + key, value); }
  void kv_heads(const std::vector<uint32_t>& counts) {
    file_.array(prefix_ + "attention.head_count_kv", GgufType::kU32, counts);
  }
  void matrix(const std::string& name, uint64_t cols, uint64_t rows) {
    file_.tensor(name, {cols, rows}, kF32, cols * rows * sizeof(float));
  }
  void vector(const std::string& name, uint64_t size, char fill = 0) {
    file_.tensor(name, {size}, kF32, size * sizeof(float), fill);
  }
  /// The layers' tensors, with these KV heads.
  void weights(const std::vector<uint32_t>& kv) {
    vector("output_norm.weight", kHidden);
    for (size_t l = 0; l < kv.size(); ++l) {
      const std::string layer = fmt::format("blk.{}.", l);
      vector(layer + "attn_norm.weight", kHidden);
      vector(layer + "ffn_norm.weight", kHidden);
      matrix(layer + "attn_q.weight", kHidden, kHeads * kHeadDim);
      matrix(layer + "attn_k.weight", kHidden, kv[l] * kHeadDim);
      matrix(layer + "attn_v.weight", kHidden, kv[l] * kHeadDim);
      matrix(layer + "attn_output.weight", kHeads * kHeadDim, kHidden);
      matrix(layer + "ffn_gate.weight", kHidden, kFfn);
      matrix(layer + "ffn_up.weight", kHidden, kFfn);
      matrix(layer + "ffn_down.weight", kFfn, kHidden);
    }
  }

  Checkpoint open() const { return open_checkpoint(folder_.write("m.gguf", file_.build())); }
  ModelConfig config() const { return read_config(open()); }
  Model load() const {
    const Checkpoint checkpoint = open();
    return load_model(checkpoint);
  }

 private:
  TempFolder folder_;
  GgufBuilder file_;
  std::string prefix_;
};

TEST_F(GgufConfig, UnsupportedArchitecturesAreNamed) {
  for (const char* architecture : {"gemma3", "mamba", ""}) {
    begin(architecture);
    EXPECT_TRUE(has(error_of([&] { config(); }),
                    {"m.gguf", "general.architecture", fmt::format("'{}'", architecture),
                     "supported: llama, qwen2, qwen3, phi3"}));
  }
}

TEST_F(GgufConfig, TheSlidingWindowHoldsForEveryLayer) {
  EXPECT_EQ(config().window, (std::vector<int64_t>{0, 0, 0}));
  u32("attention.sliding_window", 24);
  EXPECT_EQ(config().window, (std::vector<int64_t>{24, 24, 24}));
  EXPECT_EQ(config().shape().window, (std::vector<int64_t>{24, 24, 24}));
}

TEST_F(GgufConfig, LengthsThatCannotBe) {
  u64("attention.sliding_window", ~uint64_t{0});
  EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf", "sliding window is -1"}));
  begin("llama", ~uint32_t{0});
  EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf", "trained context is 4294967295"}));
}

TEST_F(GgufConfig, KvHeadsOfOneNumber) {
  EXPECT_EQ(config().kv_heads, (std::vector<int>{4, 4, 4})) << "as many as query heads";
  u32("attention.head_count_kv", 2);
  EXPECT_EQ(config().kv_heads, (std::vector<int>{2, 2, 2}));
}

TEST_F(GgufConfig, KvHeadsOfEachLayer) {
  kv_heads({1, 4, 2});
  weights({1, 4, 2});
  const Model model = load();
  EXPECT_EQ(model.config.kv_heads, (std::vector<int>{1, 4, 2}));
  EXPECT_EQ(model.shape.kv_heads, (std::vector<int>{1, 4, 2}));
  for (size_t l = 0; l < 3; ++l) {
    const auto rows = static_cast<int64_t>(kHeadDim) * model.config.kv_heads[l];
    EXPECT_EQ(model.layers[l].k.rows(), rows);
    EXPECT_EQ(model.layers[l].v.rows(), rows);
  }
}

TEST_F(GgufConfig, KvHeadsThatTheWeightsContradict) {
  kv_heads({1, 2, 2});
  weights({1, 4, 2});
  EXPECT_TRUE(has(error_of([&] { load(); }), {"blk.1.attn_k.weight", "[8, 8]", "[4, 8]"}));
}

TEST_F(GgufConfig, KvHeadsThatCannotBe) {
  kv_heads({1, 4});
  EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf", "llama.attention.head_count_kv"}));
  begin("llama");
  kv_heads({1, 3, 2});
  EXPECT_TRUE(has(error_of([&] { config(); }), {"4 query heads", "3 KV"}));
  begin("llama");
  kv_heads({1, 0, 2});
  EXPECT_TRUE(has(error_of([&] { config(); }), {"number of KV heads", "0"}));
}

TEST_F(GgufConfig, AttnFactorMultipliesTheMagnitudeOfYarn) {
  text("rope.scaling.type", "yarn");
  real("rope.scaling.factor", 4.0f);
  u32("rope.scaling.original_context_length", 16);
  const double own = 0.1 * std::log(4.0) + 1;
  EXPECT_NEAR(config().shape().rope.attention_factor, own, 1e-6);
  real("rope.scaling.attn_factor", 0.5f);
  EXPECT_NEAR(config().shape().rope.attention_factor, 0.5 * own, 1e-6);
}

TEST_F(GgufConfig, YarnKeysAreThoseOfTheModelThatWasConverted) {
  text("rope.scaling.type", "yarn");
  real("rope.scaling.factor", 4.0f);
  u32("rope.scaling.original_context_length", 16);
  real("rope.scaling.yarn_beta_fast", 8.0f);
  real("rope.scaling.yarn_beta_slow", 0.5f);
  real("rope.scaling.yarn_ext_factor", 1.0f);
  real("rope.scaling.yarn_attn_factor", 1.25f);
  const RopeSpec rope = config().rope;
  EXPECT_EQ(rope.beta_fast, 8.0);
  EXPECT_EQ(rope.beta_slow, 0.5);
  EXPECT_EQ(make_rope(rope, 0).attention_factor, 1.25f) << "config.json's attention_factor";
}

TEST_F(GgufConfig, YarnKeysThatChangeWhatIsDone) {
  for (const char* key : {"yarn_ext_factor", "yarn_log_multiplier", "alpha"}) {
    begin("llama");
    real(fmt::format("rope.scaling.{}", key).c_str(), 0.5f);
    EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf", key, "is 0.5: only 0 is supported"}));
  }
  begin("llama");
  text("rope.scaling.type", "yarn");
  u32("rope.scaling.original_context_length", 16);
  real("rope.scaling.yarn_ext_factor", 0.5f);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"yarn_ext_factor is 0.5: only 1 is supported"}));
  begin("llama");
  text("rope.scaling.type", "yarn");
  real("rope.scaling.yarn_beta_fast", 0.0f);
  EXPECT_TRUE(has(error_of([&] { config(); }), {"yarn_beta_fast is 0, expected a positive"}));
}

TEST_F(GgufConfig, AttnFactorHoldsWithoutAScaling) {
  EXPECT_EQ(config().shape().rope.attention_factor, 1.0f);
  real("rope.scaling.attn_factor", 1.5f);
  EXPECT_EQ(config().shape().rope.attention_factor, 1.5f);
}

TEST_F(GgufConfig, AttnFactorIsTheWholeMagnitudeOfLongrope) {
  begin("phi3");
  u32("rope.scaling.original_context_length", 16);
  vector("rope_factors_long.weight", kHeadDim / 2, kPositive);
  vector("rope_factors_short.weight", kHeadDim / 2, kPositive);
  const double own = std::sqrt(1 + std::log(64.0 / 16) / std::log(16.0));
  EXPECT_NEAR(config().shape().rope.attention_factor, own, 1e-6);
  real("rope.scaling.attn_factor", 1.19f);
  EXPECT_NEAR(config().shape().rope.attention_factor, 1.19, 1e-6);
}

TEST_F(GgufConfig, AttnFactorsThatCannotBe) {
  for (const float factor : {0.0f, -1.0f, std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()}) {
    begin("llama");
    real("rope.scaling.attn_factor", factor);
    EXPECT_TRUE(has(error_of([&] { config(); }), {"m.gguf", "llama.rope.scaling.attn_factor"}));
  }
}

}  // namespace
}  // namespace longhaul
