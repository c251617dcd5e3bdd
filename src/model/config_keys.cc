#include "model/config_keys.h"

#include "format/checkpoint.h"
#include "model/config_fields.h"
#include "model/families.h"

namespace longhaul {
namespace {

ConfigKeys gguf_keys(const Checkpoint& checkpoint) {
  const GgufMetadata& data = checkpoint.gguf();
  const std::string prefix = std::string(data.get_string("general.architecture")) + ".";
  const auto key = [&](const char* name) { return prefix + name; };
  const auto key_or = [&](const char* name, const std::string& fallback) {
    return data.contains(key(name)) ? key(name) : fallback;
  };
  ConfigKeys k;
  k.file = data.file();
  k.layers = key("block_count");
  k.hidden = key("embedding_length");
  k.ffn = key_or("expert_feed_forward_length", key("feed_forward_length"));
  k.vocab = "number of rows of token_embd.weight";
  k.heads = key("attention.head_count");
  k.kv_heads = key_or("attention.head_count_kv", k.heads);
  k.head_dim = key_or("attention.key_length", k.hidden + " / " + k.heads);
  k.experts = key("expert_count");
  k.experts_used = key("expert_used_count");
  k.dense_layers = key("leading_dense_block_count");
  k.dense_ffn = key("feed_forward_length");
  k.shared_ffn =
      key_or("expert_shared_feed_forward_length", key("expert_shared_count") + " * " + k.ffn);
  k.expert_scale = key("expert_weights_scale");
  k.window_rope_base = key("rope.freq_base_swa");
  k.layer_input = key("embedding_length_per_layer_input");
  k.latent_rank = key("attention.kv_lora_rank");
  k.latent_rope = key("rope.dimension_count");
  k.latent_plain = key("attention.key_length_mla") + " - " + k.latent_rope;
  k.latent_value = key("attention.value_length_mla");
  k.query_rank = key("attention.q_lora_rank");
  k.expert_groups = key("expert_group_count");
  k.groups_used = key("expert_group_used_count");
  k.delta_key_heads = key("ssm.group_count");
  k.delta_value_heads = key("ssm.time_step_rank");
  k.delta_key_dim = key("ssm.state_size");
  k.delta_value_dim = key("ssm.inner_size") + " / " + k.delta_value_heads;
  k.delta_kernel = key("ssm.conv_kernel");
  const bool by_kv_heads =
      data.contains(key("shortconv.l_cache")) ||
      (data.contains(key("ssm.inner_size")) && !data.contains(key("full_attention_interval")));
  k.recurrent = key_or("attention.recurrent_layers",
                       by_kv_heads ? k.kv_heads : key("full_attention_interval"));
  k.norm_eps = key_or("attention.layer_norm_epsilon", key("attention.layer_norm_rms_epsilon"));
  k.rotary_dim = key_or("rope.dimension_count", k.head_dim);
  k.rope_base = key("rope.freq_base");
  k.original_context = key_or("rope.scaling.original_context_length", key("context_length"));
  const bool longrope = checkpoint.find("rope_factors_long.weight") != nullptr;
  k.rope_factor = longrope ? key("context_length") + " / " + k.original_context
                           : key_or("rope.scaling.factor", key("rope.scale_linear"));
  return k;
}

ConfigKeys hugging_face_keys(const ConfigFields& fields) {
  ConfigKeys k;
  k.file = fields.file();
  k.layers = "num_hidden_layers";
  k.hidden = "hidden_size";
  k.ffn = fields.has("moe_intermediate_size") ? "moe_intermediate_size" : "intermediate_size";
  k.vocab = "vocab_size";
  k.heads = "num_attention_heads";
  k.kv_heads = fields.has("num_key_value_heads") ? "num_key_value_heads" : k.heads;
  k.head_dim = fields.has("head_dim") ? "head_dim" : k.hidden + " / " + k.heads;
  k.experts = fields.has("n_routed_experts") ? "n_routed_experts"
              : fields.has("num_experts")    ? "num_experts"
                                             : "num_local_experts";
  k.experts_used = fields.has("top_k_experts") ? "top_k_experts" : "num_experts_per_tok";
  k.dense_layers = "first_k_dense_replace";
  k.dense_ffn = "intermediate_size";
  k.shared_ffn = fields.has("shared_expert_intermediate_size")
                     ? "shared_expert_intermediate_size"
                     : "n_shared_experts * moe_intermediate_size";
  k.expert_scale = "routed_scaling_factor";
  k.window_rope_base = "rope_local_base_freq";
  k.layer_input = "hidden_size_per_layer_input";
  k.latent_rank = "kv_lora_rank";
  k.latent_rope = "qk_rope_head_dim";
  k.latent_plain = "qk_nope_head_dim";
  k.latent_value = "v_head_dim";
  k.query_rank = "q_lora_rank";
  k.expert_groups = "n_group";
  k.groups_used = "topk_group";
  k.delta_key_heads = "linear_num_key_heads";
  k.delta_value_heads = "linear_num_value_heads";
  k.delta_key_dim = "linear_key_head_dim";
  k.delta_value_dim = "linear_value_head_dim";
  k.delta_kernel = "linear_conv_kernel_dim";
  k.recurrent = "full_attention_interval";
  for (const char* list : {"attn_layer_indices", "full_attn_idxs", "hybrid_override_pattern",
                           "layers_block_type", "layer_types"}) {
    if (fields.has(list)) k.recurrent = list;
  }
  const Family* family = find_family(CheckpointFormat::kHuggingFace, fields.text("model_type", ""));
  const auto names = nlohmann::json::parse(family == nullptr ? "{}" : family->hf_names);
  for (std::string* key :
       {&k.dense_ffn, &k.experts, &k.experts_used, &k.dense_layers, &k.expert_scale}) {
    for (const auto& [name, usual] : names.items()) {
      if (usual != *key || !fields.has(name.c_str())) continue;
      *key = name;
      break;
    }
  }
  k.norm_eps = "rms_norm_eps";
  for (const char* other : {"norm_eps", "layer_norm_epsilon", "layer_norm_eps"}) {
    if (fields.has(other)) k.norm_eps = other;
  }
  k.rotary_dim = k.head_dim + " * partial_rotary_factor";
  k.rope_base = "rope_theta";
  k.original_context = "original_max_position_embeddings";
  // If the factor is not in the file, it is computed from these keys.
  k.rope_factor = "max_position_embeddings / " + k.original_context;
  return k;
}

}  // namespace

ConfigKeys config_keys(const Checkpoint& checkpoint) {
  return checkpoint.format() == CheckpointFormat::kGguf
             ? gguf_keys(checkpoint)
             : hugging_face_keys(ConfigFields(checkpoint.hf()));
}

}  // namespace longhaul
