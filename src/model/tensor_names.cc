#include "model/tensor_names.h"

namespace longhaul {
namespace {

constexpr TensorNames kGguf = {.embedding = "token_embd",
                               .head = "output",
                               .final_norm = "output_norm",
                               .layer = "blk.{}.",
                               .q = "blk.{}.attn_q",
                               .k = "blk.{}.attn_k",
                               .v = "blk.{}.attn_v",
                               .qkv = "blk.{}.attn_qkv",
                               .output = "blk.{}.attn_output",
                               .q_norm = "blk.{}.attn_q_norm",
                               .k_norm = "blk.{}.attn_k_norm",
                               .sinks = "blk.{}.attn_sinks.weight",
                               .gate = "blk.{}.ffn_gate",
                               .up = "blk.{}.ffn_up",
                               .gate_up = "blk.{}.ffn_up",
                               .down = "blk.{}.ffn_down",
                               .shared_gate = "blk.{}.ffn_gate_shexp",
                               .shared_up = "blk.{}.ffn_up_shexp",
                               .shared_down = "blk.{}.ffn_down_shexp",
                               .router = "blk.{}.ffn_gate_inp",
                               .choice_bias = "blk.{}.exp_probs_b.bias",
                               .expert_gate = "blk.{}.ffn_gate.{}",
                               .expert_up = "blk.{}.ffn_up.{}",
                               .expert_down = "blk.{}.ffn_down.{}",
                               .experts_gate = "blk.{}.ffn_gate_exps",
                               .experts_up = "blk.{}.ffn_up_exps",
                               .experts_down = "blk.{}.ffn_down_exps"};

constexpr TensorNames kHuggingFace = {
    .embedding = "model.embed_tokens",
    .head = "lm_head",
    .final_norm = "model.norm",
    .layer = "model.layers.{}.",
    .q = "model.layers.{}.self_attn.q_proj",
    .k = "model.layers.{}.self_attn.k_proj",
    .v = "model.layers.{}.self_attn.v_proj",
    .qkv = "model.layers.{}.self_attn.qkv_proj",
    .output = "model.layers.{}.self_attn.o_proj",
    .q_norm = "model.layers.{}.self_attn.q_norm",
    .k_norm = "model.layers.{}.self_attn.k_norm",
    .sinks = "model.layers.{}.self_attn.sinks",
    .gate = "model.layers.{}.mlp.gate_proj",
    .up = "model.layers.{}.mlp.up_proj",
    .gate_up = "model.layers.{}.mlp.gate_up_proj",
    .down = "model.layers.{}.mlp.down_proj",
    .shared_gate = "model.layers.{}.mlp.shared_experts.gate_proj",
    .shared_up = "model.layers.{}.mlp.shared_experts.up_proj",
    .shared_down = "model.layers.{}.mlp.shared_experts.down_proj",
    .router = "model.layers.{}.mlp.gate",
    .choice_bias = "model.layers.{}.mlp.gate.e_score_correction_bias",
    .expert_gate = "model.layers.{}.mlp.experts.{}.gate_proj",
    .expert_up = "model.layers.{}.mlp.experts.{}.up_proj",
    .expert_down = "model.layers.{}.mlp.experts.{}.down_proj",
    .experts_gate = nullptr,
    .experts_up = nullptr,
    .experts_down = nullptr};

}  // namespace

const TensorNames& tensor_names(CheckpointFormat format) {
  return format == CheckpointFormat::kGguf ? kGguf : kHuggingFace;
}

TensorNames tensor_names(CheckpointFormat format, const std::string& architecture) {
  TensorNames names = tensor_names(format);
  if (architecture == "mixtral" || architecture == "minimax_m2") {
    names.choice_bias = "model.layers.{}.block_sparse_moe.e_score_correction_bias";
    names.router = "model.layers.{}.block_sparse_moe.gate";
    names.expert_gate = "model.layers.{}.block_sparse_moe.experts.{}.w1";
    names.expert_up = "model.layers.{}.block_sparse_moe.experts.{}.w3";
    names.expert_down = "model.layers.{}.block_sparse_moe.experts.{}.w2";
  } else if (architecture == "gpt_oss") {
    names.router = "model.layers.{}.mlp.router";
  }
  return names;
}

}  // namespace longhaul
