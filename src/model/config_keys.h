#pragma once
// What the settings of a ModelConfig are called in the file that it was read from, for messages.

#include <string>

namespace longhaul {

class Checkpoint;

/// Where a setting follows from others because the file does not have it, their names are given.
struct ConfigKeys {
  std::string file;  ///< that holds the keys
  std::string layers, hidden, ffn, vocab, heads, kv_heads, head_dim;
  std::string experts, experts_used, window_rope_base;
  std::string dense_layers, dense_ffn, shared_ffn, expert_scale;
  std::string norm_eps, rotary_dim, rope_base, rope_factor, original_context;
};

/// Of a checkpoint whose configuration could be read.
ConfigKeys config_keys(const Checkpoint& checkpoint);

}  // namespace longhaul
