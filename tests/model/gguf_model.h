#pragma once
// A small GGUF model, built key by key and tensor by tensor, for tests of loading.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "format/checkpoint.h"
#include "format/gguf_builder.h"
#include "format/temp_folder.h"
#include "model/model.h"

namespace longhaul::testing_support {

inline constexpr uint64_t kHidden = 8, kHeads = 4, kHeadDim = 2, kFfn = 4, kVocab = 6;
inline constexpr uint32_t kF32 = 0;
inline constexpr char kPositive = '\x3f';  // four such bytes are the float 0.747

class GgufModel : public testing::Test {
 protected:
  /// A model of three layers with all keys except `attention.head_count_kv`.
  GgufModel() { begin("llama"); }

  void begin(const std::string& architecture, uint32_t context = 64, bool width = true) {
    prefix_ = architecture + ".";
    file_ = GgufBuilder();
    file_.text("general.architecture", architecture);
    file_.u32(prefix_ + "block_count", 3).u32(prefix_ + "embedding_length", kHidden);
    file_.u32(prefix_ + "context_length", context);
    if (width) file_.u32(prefix_ + "feed_forward_length", kFfn);
    file_.u32(prefix_ + "attention.head_count", kHeads);
    real("attention.layer_norm_rms_epsilon", 1e-5f);
    matrix("token_embd.weight", kHidden, kVocab);
  }
  void u32(const std::string& key, uint32_t value) { file_.u32(prefix_ + key, value); }
  /// A key without the architecture's prefix.
  void number(const std::string& key, uint32_t value) { file_.u32(key, value); }
  void u64(const std::string& key, uint64_t value) {
    file_.number(prefix_ + key, GgufType::kU64, value);
  }
  void real(const std::string& key, float value) {
    file_.number(prefix_ + key, GgufType::kF32, value);
  }
  void boolean(const std::string& key, bool value) {
    file_.number(prefix_ + key, GgufType::kBool, static_cast<uint8_t>(value));
  }
  void text(const std::string& key, const std::string& value) { file_.text(prefix_ + key, value); }
  void numbers(const std::string& key, const std::vector<uint32_t>& values) {
    file_.array(prefix_ + key, GgufType::kU32, values);
  }
  void flags(const std::string& key, const std::vector<bool>& values) {
    std::vector<uint8_t> bytes(values.begin(), values.end());
    file_.array(prefix_ + key, GgufType::kBool, bytes);
  }
  void kv_heads(const std::vector<uint32_t>& counts) {
    file_.array(prefix_ + "attention.head_count_kv", GgufType::kU32, counts);
  }
  void matrix(const std::string& name, uint64_t cols, uint64_t rows) {
    file_.tensor(name, {cols, rows}, kF32, cols * rows * sizeof(float));
  }
  void vector(const std::string& name, uint64_t size, char fill = 0) {
    file_.tensor(name, {size}, kF32, size * sizeof(float), fill);
  }
  /// The layers' tensors for these KV heads, with or without feed-forward gates.
  void weights(const std::vector<uint32_t>& kv, bool gates = true) {
    vector("output_norm.weight", kHidden);
    for (size_t l = 0; l < kv.size(); ++l) {
      const std::string layer = fmt::format("blk.{}.", l);
      vector(layer + "attn_norm.weight", kHidden);
      vector(layer + "ffn_norm.weight", kHidden);
      matrix(layer + "attn_q.weight", kHidden, kHeads * kHeadDim);
      matrix(layer + "attn_k.weight", kHidden, kv[l] * kHeadDim);
      matrix(layer + "attn_v.weight", kHidden, kv[l] * kHeadDim);
      matrix(layer + "attn_output.weight", kHeads * kHeadDim, kHidden);
      if (gates) matrix(layer + "ffn_gate.weight", kHidden, kFfn);
      matrix(layer + "ffn_up.weight", kHidden, kFfn);
      matrix(layer + "ffn_down.weight", kFfn, kHidden);
    }
  }

  /// A tensor of integers, which no TensorView can represent.
  void unreadable(const std::string& name) { file_.tensor(name, {2}, 26, 8); }

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

}  // namespace longhaul::testing_support
