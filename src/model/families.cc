#include "model/families.h"

#include <algorithm>
#include <vector>

namespace longhaul {
namespace {

/// Names of norms, where a family has others than llama.
constexpr LayerNorms kGgufBoth = {"blk.{}.attn_norm", "blk.{}.post_attention_norm",
                                  "blk.{}.ffn_norm", "blk.{}.post_ffw_norm"};
constexpr LayerNorms kGgufAfter = {nullptr, "blk.{}.post_attention_norm", nullptr,
                                   "blk.{}.post_ffw_norm"};
constexpr LayerNorms kGgufPostAttention = {"blk.{}.attn_norm", nullptr,
                                           "blk.{}.post_attention_norm", nullptr};
constexpr LayerNorms kHfGemma = {
    "model.layers.{}.input_layernorm", "model.layers.{}.post_attention_layernorm",
    "model.layers.{}.pre_feedforward_layernorm", "model.layers.{}.post_feedforward_layernorm"};
constexpr LayerNorms kHfAfter = {nullptr, "model.layers.{}.post_attention_layernorm", nullptr,
                                 "model.layers.{}.post_feedforward_layernorm"};
constexpr LayerNorms kHfGlm4 = {
    "model.layers.{}.input_layernorm", "model.layers.{}.post_self_attn_layernorm",
    "model.layers.{}.post_attention_layernorm", "model.layers.{}.post_mlp_layernorm"};

/// As in transformers' Gemma3TextConfig. The folders of the models that see images name what
/// differs.
constexpr const char* kGemma3Usual =
    R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "max_position_embeddings": 131072, "query_pre_attn_scalar": 256, "rope_theta": 1e6,
        "sliding_window": 4096, "tie_word_embeddings": true})";

constexpr Family kFamilies[] = {
    {.gguf = "llama",
     .hugging_face = "llama",
     .gguf_pairs = true,
     .experts = true,
     .windows = false},
    {.gguf = "llama", .hugging_face = "mistral", .gguf_pairs = true},
    {.gguf = "llama", .hugging_face = "ministral", .gguf_pairs = true},
    {.gguf = "mistral3", .hugging_face = "ministral3", .gguf_pairs = true, .temperature = true},
    {.gguf = "llama", .hugging_face = "mixtral", .gguf_pairs = true, .experts = true},
    {.gguf = "qwen2", .hugging_face = "qwen2", .qkv_bias = true, .window_flag = true},
    {.gguf = "qwen3", .hugging_face = "qwen3", .qk_norm = QkNorm::kHead, .window_flag = true},
    {.gguf = "qwen2vl", .hugging_face = "qwen2_5_vl_text", .qkv_bias = true, .window_flag = true},
    {.gguf = "qwen3vl", .hugging_face = "qwen3_vl_text", .qk_norm = QkNorm::kHead},
    {.gguf = "qwen3moe",
     .hugging_face = "qwen3_moe",
     .qk_norm = QkNorm::kHead,
     .experts = true,
     .hf_norm_topk_prob = false,
     .window_flag = true},
    {.gguf = "phi3", .hugging_face = "phi3", .fused_gate_up = true},
    {.gguf = "gemma2",
     .hugging_face = "gemma2",
     .gguf_norms = kGgufBoth,
     .hf_norms = kHfGemma,
     .hf_norm_offset = true,
     .gating = kGeluGating,
     .embedding_by_size = true,
     .query_scale = true,
     .gguf_wide_layers = 46,
     .caps = true,
     .attention_cap = 50,
     .logit_cap = 30,
     .full_every = 2},
    {.gguf = "gemma3",
     .hugging_face = "gemma3_text",
     .gguf_norms = kGgufBoth,
     .hf_norms = kHfGemma,
     .hf_usual = kGemma3Usual,
     .qk_norm = QkNorm::kHead,
     .hf_norm_offset = true,
     .gating = kGeluGating,
     .embedding_by_size = true,
     .query_scale = true,
     .gguf_wide_layers = 62,
     .caps = true,
     .full_every = 6,
     .window_rope_base = 10000},
    {.gguf = "smollm3",
     .hugging_face = "smollm3",
     .gguf_pairs = true,
     .window_flag = true,
     .still_every = 4},
    {.gguf = "granite",
     .hugging_face = "granite",
     .gguf_pairs = true,
     .multipliers = true,
     .windows = false},
    {.gguf = "olmo2",
     .hugging_face = "olmo2",
     .gguf_norms = kGgufAfter,
     .hf_norms = kHfAfter,
     .qk_norm = QkNorm::kWhole,
     .windows = false},
    {.gguf = "glm4",
     .hugging_face = "glm4",
     .gguf_norms = kGgufBoth,
     .hf_norms = kHfGlm4,
     .gguf_pairs = true,
     .hf_pairs = true,
     .fused_gate_up = true,
     .windows = false},
    {.gguf = "seed_oss",
     .hugging_face = "seed_oss",
     .gguf_norms = kGgufPostAttention,
     .qkv_bias = true,
     .windows = false},
    {.gguf = "ernie4_5",
     .hugging_face = "ernie4_5",
     .gguf_pairs = true,
     .hf_pairs = true,
     .windows = false},
    {.gguf = "gpt-oss",
     .hugging_face = "gpt_oss",
     .gguf_norms = kGgufPostAttention,
     .hf_refusal = "keeps experts in a form of its own; use a GGUF file",
     .qkv_bias = true,
     .biases = true,
     .gating = kClampedGating,
     .sinks = true,
     .experts = true,
     .full_every = 2,
     .whole_yarn_pairs = false},
};

std::string_view name_of(const Family& family, CheckpointFormat format) {
  return format == CheckpointFormat::kGguf ? family.gguf : family.hugging_face;
}

}  // namespace

const Family* find_family(CheckpointFormat format, std::string_view name) {
  for (const Family& family : kFamilies) {
    if (name_of(family, format) == name) return &family;
  }
  return nullptr;
}

std::string family_names(CheckpointFormat format) {
  std::vector<std::string_view> names;
  std::string text;
  for (const Family& family : kFamilies) {
    const std::string_view name = name_of(family, format);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

bool same_family(std::string_view one, std::string_view other) {
  return std::any_of(std::begin(kFamilies), std::end(kFamilies), [&](const Family& f) {
    return (one == f.gguf || one == f.hugging_face) && (other == f.gguf || other == f.hugging_face);
  });
}

}  // namespace longhaul
