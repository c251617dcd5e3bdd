#include "model/config.h"

#include <cmath>

#include "base/error.h"
#include "format/checkpoint.h"
#include "model/config_keys.h"
#include "model/neutral_keys.h"

namespace longhaul {
namespace {

void check(const ModelConfig& c, const ConfigKeys& keys) {
  const auto in_range = [&](const std::string& key, int64_t value, int64_t most) {
    if (value < 1 || value > most)
      user_error("{}: {} is {}, which is outside 1..{}", keys.file, key, value, most);
  };
  in_range(keys.layers, c.layers, 1024);
  in_range(keys.hidden, c.hidden, 1 << 20);
  in_range(keys.ffn, c.ffn, 1 << 22);
  in_range(keys.vocab, c.vocab, 1 << 24);
  in_range(keys.heads, c.heads, 4096);
  in_range(keys.head_dim, c.head_dim, 1024);
  in_range(keys.rotary_dim, c.rope.rotary_dim, c.head_dim);
  if (c.rope.rotary_dim % 2 != 0) {
    user_error("{}: {} is {}, but what rotates are pairs", keys.file, keys.rotary_dim,
               c.rope.rotary_dim);
  }
  for (const int kv : c.kv_heads) {
    in_range(keys.kv_heads, kv, c.heads);
    if (c.heads % kv != 0) {
      user_error("{}: {} is {}, which {} query heads cannot share evenly", keys.file, keys.kv_heads,
                 kv, c.heads);
    }
  }
  if (!(c.rope.base > 1) || !std::isfinite(c.rope.base)) {
    user_error("{}: {} is {}, expected more than 1", keys.file, keys.rope_base, c.rope.base);
  }
  const bool needs_original = c.rope.scaling == RopeScaling::kLlama3 ||
                              c.rope.scaling == RopeScaling::kYarn || c.rope.depends_on_length();
  if (needs_original) in_range(keys.original_context, c.rope.original_context, 1 << 30);
  if (!(c.rope.factor > 0) || !std::isfinite(c.rope.factor)) {
    user_error("{}: {} is {}, expected more than 0", keys.file, keys.rope_factor, c.rope.factor);
  }
  if (!(c.norm_eps >= 0) || c.norm_eps > 1)
    user_error("{}: {} is {}, which is outside 0..1", keys.file, keys.norm_eps, c.norm_eps);
}

}  // namespace

ModelShape ModelConfig::shape(int64_t length) const {
  ModelShape s;
  s.layers = layers;
  s.heads = heads;
  s.kv_heads = kv_heads;
  s.head_dim = head_dim;
  s.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  s.trained_context = trained_context;
  s.window = window;
  s.rope = make_rope(rope, length);
  return s;
}

ModelConfig read_config(const Checkpoint& checkpoint) {
  ModelConfig config = checkpoint.format() == CheckpointFormat::kGguf ? read_gguf_config(checkpoint)
                                                                      : read_hf_config(checkpoint);
  check(config, config_keys(checkpoint));
  refuse_other_arithmetic(checkpoint, config);
  return config;
}

}  // namespace longhaul
