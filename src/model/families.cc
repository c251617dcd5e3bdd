#include "model/families.h"

#include <algorithm>
#include <vector>

#include "model/families_usual.h"

namespace longhaul {
namespace {

/// Names of norms for families whose names differ from llama's.
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

constexpr Family kFamilies[] = {
    {.gguf = "llama",
     .hugging_face = "llama",
     .hf_usual = usual::kLlama,
     .gguf_pairs = true,
     .experts = true,
     .windows = false},
    {.gguf = "llama", .hugging_face = "mistral", .hf_usual = usual::kMistral, .gguf_pairs = true},
    {.gguf = "llama", .hugging_face = "ministral", .hf_usual = usual::kMistral, .gguf_pairs = true},
    {.gguf = "mistral3",
     .hugging_face = "ministral3",
     .hf_usual = usual::kMinistral3,
     .gguf_pairs = true,
     .temperature = true},
    {.gguf = "llama",
     .hugging_face = "mixtral",
     .hf_usual = usual::kMixtral,
     .gguf_pairs = true,
     .experts = true},
    {.gguf = "qwen2",
     .hugging_face = "qwen2",
     .hf_usual = usual::kQwen2,
     .qkv_bias = true,
     .window_flag = true,
     .window_layers = true},
    {.gguf = "qwen3",
     .hugging_face = "qwen3",
     .hf_usual = usual::kQwen3,
     .qk_norm = QkNorm::kHead,
     .window_flag = true,
     .window_layers = true},
    {.gguf = "qwen2vl",
     .hugging_face = "qwen2_5_vl_text",
     .hf_usual = usual::kQwen2Vl,
     .qkv_bias = true,
     .window_flag = true,
     .window_layers = true},
    {.gguf = "qwen2vl",
     .hugging_face = "qwen2_vl_text",
     .hf_usual = usual::kQwen2Vl,
     .qkv_bias = true,
     .window_flag = true,
     .window_layers = true},
    {.gguf = "qwen3vl",
     .hugging_face = "qwen3_vl_text",
     .hf_usual = usual::kQwen3Vl,
     .qk_norm = QkNorm::kHead},
    {.gguf = "qwen3moe",
     .hugging_face = "qwen3_moe",
     .hf_usual = usual::kQwen3Moe,
     .qk_norm = QkNorm::kHead,
     .experts = true,
     .hf_norm_topk_prob = false,
     .window_flag = true},
    {.gguf = "glm4moe",
     .hugging_face = "glm4_moe",
     .gguf_norms = kGgufPostAttention,
     .hf_usual = usual::kGlm4Moe,
     .qk_norm = QkNorm::kHead,
     .experts = true,
     .expert_sigmoid = true,
     .shared_experts = true,
     .qk_norm_flag = true,
     .windows = false},
    {.gguf = "dots1",
     .hugging_face = "dots1",
     .hf_usual = usual::kDots1,
     .qk_norm = QkNorm::kHead,
     .experts = true,
     .hf_norm_topk_prob = false,
     .expert_sigmoid = true,
     .shared_experts = true,
     .window_layers = true},
    {.gguf = "minimax-m2",
     .hugging_face = "minimax_m2",
     .hf_usual = usual::kMiniMaxM2,
     .qk_norm = QkNorm::kWhole,
     .experts = true,
     .expert_sigmoid = true,
     .windows = false},
    {.gguf = "phi3",
     .hugging_face = "phi3",
     .hf_usual = usual::kPhi3,
     .fused_gate_up = true,
     .gguf_windows = true},
    {.gguf = "gemma2",
     .hugging_face = "gemma2",
     .gguf_norms = kGgufBoth,
     .hf_norms = kHfGemma,
     .hf_usual = usual::kGemma2,
     .hf_norm_offset = true,
     .gating = kGeluGating,
     .embedding_by_size = true,
     .query_scale = true,
     .gguf_wide_layers = 46,
     .caps = true,
     .attention_cap = 50,
     .logit_cap = 30,
     .gguf_windows = true,
     .full_every = 2},
    {.gguf = "gemma3",
     .hugging_face = "gemma3_text",
     .gguf_norms = kGgufBoth,
     .hf_norms = kHfGemma,
     .hf_usual = usual::kGemma3,
     .qk_norm = QkNorm::kHead,
     .hf_norm_offset = true,
     .gating = kGeluGating,
     .embedding_by_size = true,
     .query_scale = true,
     .gguf_wide_layers = 62,
     .caps = true,
     .gguf_windows = true,
     .full_every = 6,
     .window_rope_base = 10000,
     .local_base_key = true},
    {.gguf = "smollm3",
     .hugging_face = "smollm3",
     .hf_usual = usual::kSmolLm3,
     .gguf_pairs = true,
     .window_flag = true,
     .still_windows = true,
     .still_every = 4},
    {.gguf = "granite",
     .hugging_face = "granite",
     .hf_usual = usual::kLlama,
     .gguf_pairs = true,
     .multipliers = true,
     .windows = false},
    {.gguf = "olmo2",
     .hugging_face = "olmo2",
     .gguf_norms = kGgufAfter,
     .hf_norms = kHfAfter,
     .hf_usual = usual::kOlmo2,
     .qk_norm = QkNorm::kWhole,
     .windows = false,
     .gguf_windows = true,
     .full_every = 4,
     .whole_attn_factor = true,
     .window_unscaled = true},
    {.gguf = "olmo2",
     .hugging_face = "olmo3",
     .gguf_norms = kGgufAfter,
     .hf_norms = kHfAfter,
     .hf_usual = usual::kOlmo3,
     .qk_norm = QkNorm::kWhole,
     .full_every = 4,
     .window_rope_base = 500000},
    {.gguf = "exaone4",
     .hugging_face = "exaone4",
     .gguf_norms = kGgufAfter,
     .hf_norms = kHfAfter,
     .hf_usual = usual::kExaone4,
     .qk_norm = QkNorm::kHead,
     .gguf_windows = true,
     .full_every = 4,
     .still_full = true},
    {.gguf = "glm4",
     .hugging_face = "glm4",
     .gguf_norms = kGgufBoth,
     .hf_norms = kHfGlm4,
     .hf_usual = usual::kGlm4,
     .gguf_pairs = true,
     .hf_pairs = true,
     .fused_gate_up = true,
     .windows = false},
    {.gguf = "seed_oss",
     .hugging_face = "seed_oss",
     .gguf_norms = kGgufPostAttention,
     .hf_usual = usual::kSeedOss,
     .qkv_bias = true,
     .windows = false},
    {.gguf = "ernie4_5",
     .hugging_face = "ernie4_5",
     .hf_usual = usual::kErnie45,
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
     .gguf_windows = true,
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
