#include "model/tensor_names.h"

namespace longhaul {
namespace {

constexpr TensorNames kGguf = {"token_embd",         "output",
                               "output_norm",        "blk.{}.attn_norm",
                               "blk.{}.ffn_norm",    "blk.{}.attn_q",
                               "blk.{}.attn_k",      "blk.{}.attn_v",
                               "blk.{}.attn_qkv",    "blk.{}.attn_output",
                               "blk.{}.attn_q_norm", "blk.{}.attn_k_norm",
                               "blk.{}.ffn_gate",    "blk.{}.ffn_up",
                               "blk.{}.ffn_up",      "blk.{}.ffn_down"};

constexpr TensorNames kHuggingFace = {"model.embed_tokens",
                                      "lm_head",
                                      "model.norm",
                                      "model.layers.{}.input_layernorm",
                                      "model.layers.{}.post_attention_layernorm",
                                      "model.layers.{}.self_attn.q_proj",
                                      "model.layers.{}.self_attn.k_proj",
                                      "model.layers.{}.self_attn.v_proj",
                                      "model.layers.{}.self_attn.qkv_proj",
                                      "model.layers.{}.self_attn.o_proj",
                                      "model.layers.{}.self_attn.q_norm",
                                      "model.layers.{}.self_attn.k_norm",
                                      "model.layers.{}.mlp.gate_proj",
                                      "model.layers.{}.mlp.up_proj",
                                      "model.layers.{}.mlp.gate_up_proj",
                                      "model.layers.{}.mlp.down_proj"};

}  // namespace

const TensorNames& tensor_names(CheckpointFormat format) {
  return format == CheckpointFormat::kGguf ? kGguf : kHuggingFace;
}

}  // namespace longhaul
