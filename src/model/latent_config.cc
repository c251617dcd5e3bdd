#include "model/latent_config.h"

#include <cmath>

#include "base/error.h"
#include "model/config_keys.h"

namespace longhaul {
namespace {

void set_heads(ModelConfig& c) {
  c.head_dim = c.latent.rank + c.latent.rope;
  c.kv_heads.assign(static_cast<size_t>(c.layers), 1);
}

}  // namespace

void read_latent(const ConfigFields& fields, ModelConfig& c) {
  LatentShape& latent = c.latent;
  latent.rank = fields.integer("kv_lora_rank");
  if (latent.rank == 0) user_error("{}: 'kv_lora_rank' is 0", fields.file());
  latent.query_rank = fields.has("q_lora_rank") ? fields.integer("q_lora_rank") : 0;
  latent.rope = fields.integer("qk_rope_head_dim");
  latent.plain = fields.integer("qk_nope_head_dim");
  latent.value = fields.integer("v_head_dim");
  latent.eps = 1e-6f;  // transformers uses this value regardless of rms_norm_eps
  if (fields.flag("attention_bias")) {
    user_error("{}: attention_bias is true, which is not supported with latent attention",
               fields.file());
  }
  c.interleaved_rope = fields.flag("rope_interleave", true);
  set_heads(c);
}

void read_latent(const GgufKeys& keys, ModelConfig& c) {
  constexpr const char* kQuery = "attention.key_length_mla";
  constexpr const char* kRope = "rope.dimension_count";
  if (!keys.has(kQuery)) {
    user_error("{}: {} is missing: an older llama.cpp converted this file; convert it again",
               keys.file(), keys.key(kQuery));
  }
  LatentShape& latent = c.latent;
  latent.rank = keys.size("attention.kv_lora_rank");
  if (latent.rank == 0) {
    user_error("{}: {} is 0", keys.file(), keys.key("attention.kv_lora_rank"));
  }
  latent.query_rank = keys.size_or("attention.q_lora_rank", 0);
  latent.rope = keys.size(kRope);
  const int query = keys.size(kQuery);
  if (query <= latent.rope) {
    user_error("{}: {} is {}, expected more than {}, {}", keys.file(), keys.key(kQuery), query,
               keys.key(kRope), latent.rope);
  }
  latent.plain = query - latent.rope;
  latent.value = keys.size("attention.value_length_mla");
  latent.eps = c.norm_eps;
  set_heads(c);
}

void set_latent_scale(double all_dims, ModelConfig& c) {
  const bool scaled = c.rope.scaling != RopeScaling::kNone && all_dims != 0;
  const double magnitude = scaled ? yarn_magnitude(c.rope.factor, all_dims) : 1;
  c.attention_scale = static_cast<float>(magnitude * magnitude / std::sqrt(c.latent.query()));
}

void check_latent(const ModelConfig& c, const ConfigKeys& keys) {
  const auto in_range = [&](const std::string& key, int value, int most) {
    if (value < 1 || value > most)
      user_error("{}: {} is {}, which is outside 1..{}", keys.file, key, value, most);
  };
  const LatentShape& latent = c.latent;
  in_range(keys.latent_rank, latent.rank, 1024 - 2);
  in_range(keys.latent_rope, latent.rope, 1024 - latent.rank);
  in_range(keys.latent_plain, latent.plain, 1024);
  in_range(keys.latent_value, latent.value, 1024);
  if (latent.query_rank != 0) in_range(keys.query_rank, latent.query_rank, 1 << 20);
}

void check_expert_groups(const ModelConfig& c, const ConfigKeys& keys) {
  if (c.expert_groups == 1) return;
  if (c.expert_groups < 1 || c.experts % c.expert_groups != 0) {
    user_error("{}: {} is {}, which {} experts cannot fill evenly", keys.file, keys.expert_groups,
               c.expert_groups, c.experts);
  }
  const int size = c.experts / c.expert_groups;
  if (c.groups_used < 1 || c.groups_used > c.expert_groups ||
      c.experts_used > size * c.groups_used) {
    user_error("{}: {} is {}: of {} groups of {} experts a row uses {} experts", keys.file,
               keys.groups_used, c.groups_used, c.expert_groups, size, c.experts_used);
  }
}

}  // namespace longhaul
