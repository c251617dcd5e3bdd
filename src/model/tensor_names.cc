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
                               .shared_expert_gate = "blk.{}.ffn_gate_inp_shexp.weight",
                               .delta_qkv = "blk.{}.attn_qkv",
                               .delta_z = "blk.{}.attn_gate",
                               .delta_qkvz = "blk.{}.ssm_in",
                               .delta_b = "blk.{}.ssm_beta",
                               .delta_a = "blk.{}.ssm_alpha",
                               .delta_ba = "blk.{}.ssm_ba",
                               .delta_norm = "blk.{}.ssm_norm",
                               .delta_output = "blk.{}.ssm_out",
                               .delta_convolution = "blk.{}.ssm_conv1d.weight",
                               .delta_dt_bias = "blk.{}.ssm_dt.bias",
                               .delta_rate = "blk.{}.ssm_a",
                               .recurrent_in = "blk.{}.ssm_in",
                               .recurrent_output = "blk.{}.ssm_out",
                               .recurrent_convolution = "blk.{}.ssm_conv1d",
                               .recurrent_skip = "blk.{}.ssm_d",
                               .router = "blk.{}.ffn_gate_inp",
                               .choice_bias = "blk.{}.exp_probs_b.bias",
                               .expert_gate = "blk.{}.ffn_gate.{}",
                               .expert_up = "blk.{}.ffn_up.{}",
                               .expert_down = "blk.{}.ffn_down.{}",
                               .experts_gate = "blk.{}.ffn_gate_exps",
                               .experts_up = "blk.{}.ffn_up_exps",
                               .experts_down = "blk.{}.ffn_down_exps",
                               .experts_gate_up = "blk.{}.ffn_gate_up_exps.weight",
                               .experts_down_beside = "blk.{}.ffn_down_exps.weight",
                               .network_after_norm = "blk.{}.post_ffw_norm_1",
                               .experts_norm = "blk.{}.pre_ffw_norm_2",
                               .experts_after_norm = "blk.{}.post_ffw_norm_2",
                               .router_scale = "blk.{}.ffn_gate_inp.scale",
                               .expert_scales = "blk.{}.ffn_down_exps.scale",
                               .layer_embedding = "per_layer_token_embd",
                               .layer_projection = "per_layer_model_proj",
                               .layer_projection_norm = "per_layer_proj_norm",
                               .input_gate = "blk.{}.inp_gate",
                               .input_output = "blk.{}.proj",
                               .input_norm = "blk.{}.post_norm",
                               .layer_scale = "blk.{}.layer_output_scale.weight",
                               .q_down = "blk.{}.attn_q_a",
                               .q_down_norm = "blk.{}.attn_q_a_norm",
                               .q_up = "blk.{}.attn_q_b",
                               .kv_down = "blk.{}.attn_kv_a_mqa",
                               .kv_down_norm = "blk.{}.attn_kv_a_norm",
                               .kv_up = "blk.{}.attn_kv_b",
                               .k_up = "blk.{}.attn_k_b",
                               .v_up = "blk.{}.attn_v_b"};

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
    .shared_expert_gate = "model.layers.{}.mlp.shared_expert_gate.weight",
    .delta_qkv = "model.layers.{}.linear_attn.in_proj_qkv",
    .delta_z = "model.layers.{}.linear_attn.in_proj_z",
    .delta_qkvz = "model.layers.{}.linear_attn.in_proj_qkvz",
    .delta_b = "model.layers.{}.linear_attn.in_proj_b",
    .delta_a = "model.layers.{}.linear_attn.in_proj_a",
    .delta_ba = "model.layers.{}.linear_attn.in_proj_ba",
    .delta_norm = "model.layers.{}.linear_attn.norm",
    .delta_output = "model.layers.{}.linear_attn.out_proj",
    .delta_convolution = "model.layers.{}.linear_attn.conv1d.weight",
    .delta_dt_bias = "model.layers.{}.linear_attn.dt_bias",
    .delta_rate = "model.layers.{}.linear_attn.A_log",
    .recurrent_in = "model.layers.{}.mamba.in_proj",
    .recurrent_output = "model.layers.{}.mamba.out_proj",
    .recurrent_convolution = "model.layers.{}.mamba.conv1d",
    .recurrent_skip = "model.layers.{}.mamba.D",
    .router = "model.layers.{}.mlp.gate",
    .choice_bias = "model.layers.{}.mlp.gate.e_score_correction_bias",
    .expert_gate = "model.layers.{}.mlp.experts.{}.gate_proj",
    .expert_up = "model.layers.{}.mlp.experts.{}.up_proj",
    .expert_down = "model.layers.{}.mlp.experts.{}.down_proj",
    .experts_gate = nullptr,
    .experts_up = nullptr,
    .experts_down = nullptr,
    .experts_gate_up = "model.layers.{}.mlp.experts.gate_up_proj",
    .experts_down_beside = "model.layers.{}.mlp.experts.down_proj",
    .network_after_norm = "model.layers.{}.post_feedforward_layernorm_1",
    .experts_norm = "model.layers.{}.pre_feedforward_layernorm_2",
    .experts_after_norm = "model.layers.{}.post_feedforward_layernorm_2",
    .router_scale = "model.layers.{}.router.scale",
    .expert_scales = "model.layers.{}.router.per_expert_scale",
    .layer_embedding = "model.embed_tokens_per_layer",
    .layer_projection = "model.per_layer_model_projection",
    .layer_projection_norm = "model.per_layer_projection_norm",
    .input_gate = "model.layers.{}.per_layer_input_gate",
    .input_output = "model.layers.{}.per_layer_projection",
    .input_norm = "model.layers.{}.post_per_layer_input_norm",
    .layer_scale = "model.layers.{}.layer_scalar",
    .q_down = "model.layers.{}.self_attn.q_a_proj",
    .q_down_norm = "model.layers.{}.self_attn.q_a_layernorm",
    .q_up = "model.layers.{}.self_attn.q_b_proj",
    .kv_down = "model.layers.{}.self_attn.kv_a_proj_with_mqa",
    .kv_down_norm = "model.layers.{}.self_attn.kv_a_layernorm",
    .kv_up = "model.layers.{}.self_attn.kv_b_proj",
    .k_up = "model.layers.{}.self_attn.k_b_proj",
    .v_up = "model.layers.{}.self_attn.v_b_proj"};

/// Sets the names that LFM2 uses in Hugging Face folders and in GGUF files.
void name_lfm2(CheckpointFormat format, TensorNames& names) {
  if (format == CheckpointFormat::kGguf) {
    names.final_norm = "token_embd_norm";
    names.recurrent_in = "blk.{}.shortconv.in_proj";
    names.recurrent_output = "blk.{}.shortconv.out_proj";
    names.recurrent_convolution = "blk.{}.shortconv.conv";
    return;
  }
  names.final_norm = "model.embedding_norm";
  names.output = "model.layers.{}.self_attn.out_proj";
  names.q_norm = "model.layers.{}.self_attn.q_layernorm";
  names.k_norm = "model.layers.{}.self_attn.k_layernorm";
  names.gate = "model.layers.{}.feed_forward.w1";
  names.up = "model.layers.{}.feed_forward.w3";
  names.down = "model.layers.{}.feed_forward.w2";
  names.router = "model.layers.{}.feed_forward.gate";
  names.choice_bias = "model.layers.{}.feed_forward.expert_bias";
  names.expert_gate = "model.layers.{}.feed_forward.experts.{}.w1";
  names.expert_up = "model.layers.{}.feed_forward.experts.{}.w3";
  names.expert_down = "model.layers.{}.feed_forward.experts.{}.w2";
  names.experts_gate_up = "model.layers.{}.feed_forward.experts.gate_up_proj";
  names.experts_down_beside = "model.layers.{}.feed_forward.experts.down_proj";
  names.recurrent_in = "model.layers.{}.conv.in_proj";
  names.recurrent_output = "model.layers.{}.conv.out_proj";
  names.recurrent_convolution = "model.layers.{}.conv.conv";
}

/// Sets the names that Granite 4 H, Bamba and Falcon-H1 use in Hugging Face folders.
void name_mamba(bool granite, TensorNames& names) {
  names.delta_dt_bias = "model.layers.{}.mamba.dt_bias";
  names.delta_rate = "model.layers.{}.mamba.A_log";
  names.delta_norm = "model.layers.{}.mamba.norm";
  if (!granite) {
    names.final_norm = "model.final_layernorm";
    names.gate = "model.layers.{}.feed_forward.gate_proj";
    names.up = "model.layers.{}.feed_forward.up_proj";
    names.down = "model.layers.{}.feed_forward.down_proj";
    return;
  }
  names.gate_up = "model.layers.{}.shared_mlp.input_linear";
  names.down = names.shared_down = "model.layers.{}.shared_mlp.output_linear";
  names.router = "model.layers.{}.block_sparse_moe.router.layer";
  names.experts_gate_up = "model.layers.{}.block_sparse_moe.input_linear.weight";
  names.experts_down_beside = "model.layers.{}.block_sparse_moe.output_linear.weight";
}

/// Sets the names that Nemotron-H uses in Hugging Face folders. Every layer has one part, which is
/// called mixer.
void name_nemotron(TensorNames& names) {
  names.layer = "backbone.layers.{}.";
  names.embedding = "backbone.embeddings";
  names.final_norm = "backbone.norm_f";
  names.q = "backbone.layers.{}.mixer.q_proj";
  names.k = "backbone.layers.{}.mixer.k_proj";
  names.v = "backbone.layers.{}.mixer.v_proj";
  names.output = "backbone.layers.{}.mixer.o_proj";
  names.up = "backbone.layers.{}.mixer.up_proj";
  names.down = "backbone.layers.{}.mixer.down_proj";
  names.shared_up = "backbone.layers.{}.mixer.shared_experts.up_proj";
  names.shared_down = "backbone.layers.{}.mixer.shared_experts.down_proj";
  names.router = "backbone.layers.{}.mixer.gate";
  names.choice_bias = "backbone.layers.{}.mixer.gate.e_score_correction_bias";
  names.expert_up = "backbone.layers.{}.mixer.experts.{}.up_proj";
  names.expert_down = "backbone.layers.{}.mixer.experts.{}.down_proj";
  names.recurrent_in = "backbone.layers.{}.mixer.in_proj";
  names.recurrent_output = "backbone.layers.{}.mixer.out_proj";
  names.recurrent_convolution = "backbone.layers.{}.mixer.conv1d";
  names.recurrent_skip = "backbone.layers.{}.mixer.D";
  names.delta_dt_bias = "backbone.layers.{}.mixer.dt_bias";
  names.delta_rate = "backbone.layers.{}.mixer.A_log";
  names.delta_norm = "backbone.layers.{}.mixer.norm";
}

void use_shared_mlp(TensorNames& names) {
  names.shared_gate = "model.layers.{}.mlp.shared_mlp.gate_proj";
  names.shared_up = "model.layers.{}.mlp.shared_mlp.up_proj";
  names.shared_down = "model.layers.{}.mlp.shared_mlp.down_proj";
}

}  // namespace

const TensorNames& tensor_names(CheckpointFormat format) {
  return format == CheckpointFormat::kGguf ? kGguf : kHuggingFace;
}

TensorNames tensor_names(CheckpointFormat format, const std::string& architecture) {
  TensorNames names = tensor_names(format);
  if (architecture.starts_with("lfm2")) name_lfm2(format, names);
  if (format == CheckpointFormat::kHuggingFace) {
    const bool granite = architecture == "granitemoehybrid";
    if (granite || architecture == "bamba" || architecture == "falcon_h1")
      name_mamba(granite, names);
    if (architecture == "nemotron_h") name_nemotron(names);
  }
  if (architecture == "mixtral" || architecture == "minimax_m2") {
    names.choice_bias = "model.layers.{}.block_sparse_moe.e_score_correction_bias";
    names.router = "model.layers.{}.block_sparse_moe.gate";
    names.expert_gate = "model.layers.{}.block_sparse_moe.experts.{}.w1";
    names.expert_up = "model.layers.{}.block_sparse_moe.experts.{}.w3";
    names.expert_down = "model.layers.{}.block_sparse_moe.experts.{}.w2";
  } else if (architecture == "qwen3_next" || architecture == "qwen3_5_moe_text") {
    names.shared_gate = "model.layers.{}.mlp.shared_expert.gate_proj";
    names.shared_up = "model.layers.{}.mlp.shared_expert.up_proj";
    names.shared_down = "model.layers.{}.mlp.shared_expert.down_proj";
  } else if (architecture == "ernie4_5_moe") {
    names.choice_bias = "model.layers.{}.mlp.moe_statics.e_score_correction_bias";
  } else if (architecture == "gemma4_text") {
    names.router = "model.layers.{}.router.proj";
    names.expert_gate = "model.layers.{}.experts.{}.gate_proj";
    names.expert_up = "model.layers.{}.experts.{}.up_proj";
    names.expert_down = "model.layers.{}.experts.{}.down_proj";
    names.experts_gate_up = "model.layers.{}.experts.gate_up_proj";
    names.experts_down_beside = "model.layers.{}.experts.down_proj";
  } else if (architecture == "gpt_oss") {
    names.router = "model.layers.{}.mlp.router";
  } else if (architecture == "llama4_text") {
    names.gate = "model.layers.{}.feed_forward.gate_proj";
    names.up = "model.layers.{}.feed_forward.up_proj";
    names.down = "model.layers.{}.feed_forward.down_proj";
    names.shared_gate = "model.layers.{}.feed_forward.shared_expert.gate_proj";
    names.shared_up = "model.layers.{}.feed_forward.shared_expert.up_proj";
    names.shared_down = "model.layers.{}.feed_forward.shared_expert.down_proj";
    names.router = "model.layers.{}.feed_forward.router";
    names.experts_gate_up = "model.layers.{}.feed_forward.experts.gate_up_proj";
    names.experts_down_beside = "model.layers.{}.feed_forward.experts.down_proj";
  } else if (architecture == "exaone_moe") {
    names.choice_bias = "model.layers.{}.mlp.e_score_correction_bias";
  } else if (architecture == "hy_v3") {
    const bool gguf = format == CheckpointFormat::kGguf;
    names.choice_bias = gguf ? "blk.{}.exp_probs_b" : "model.layers.{}.mlp.expert_bias";
    if (gguf) return names;
    names.router = "model.layers.{}.mlp.router.gate";
    use_shared_mlp(names);
  } else if (architecture.starts_with("hunyuan_v1")) {
    names.q_norm = "model.layers.{}.self_attn.query_layernorm";
    names.k_norm = "model.layers.{}.self_attn.key_layernorm";
    names.router = "model.layers.{}.mlp.gate.wg";
    use_shared_mlp(names);
  }
  return names;
}

}  // namespace longhaul
