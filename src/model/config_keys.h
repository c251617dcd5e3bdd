#pragma once
// Provides the keys of a file from which the settings of a ModelConfig were read, so that error
// messages can name them.

#include <string>

namespace longhaul {

class Checkpoint;

/// One member per setting: the name of its key in the file. If a setting is derived from other
/// keys, the member contains the names of these keys.
struct ConfigKeys {
  std::string file;  ///< the file with the keys
  std::string layers, hidden, ffn, vocab, heads, kv_heads, head_dim;
  std::string experts, experts_used, window_rope_base;
  std::string dense_layers, dense_ffn, shared_ffn, expert_scale;
  std::string delta_key_heads, delta_value_heads, delta_key_dim, delta_value_dim, delta_kernel;
  std::string recurrent, layer_input;
  std::string latent_rank, latent_rope, latent_plain, latent_value, query_rank;
  std::string expert_groups, groups_used;
  std::string norm_eps, rotary_dim, rope_base, rope_factor, original_context;
};

/// Returns the keys for a checkpoint. read_config() must have succeeded for it.
ConfigKeys config_keys(const Checkpoint& checkpoint);

}  // namespace longhaul
