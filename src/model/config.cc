#include "model/config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "format/checkpoint.h"
#include "model/config_keys.h"
#include "model/latent_config.h"
#include "model/neutral_keys.h"

namespace longhaul {
namespace {

void check_delta(const ModelConfig& c, const ConfigKeys& keys) {
  const DeltaShape& d = c.delta;
  const auto in_range = [&](const std::string& key, int value, int most) {
    if (value < 1 || value > most)
      user_error("{}: {} is {}, which is outside 1..{}", keys.file, key, value, most);
  };
  in_range(keys.delta_key_heads, d.key_heads, 4096);
  in_range(keys.delta_value_heads, d.value_heads, 4096);
  in_range(keys.delta_key_dim, d.key_dim, 1024);
  in_range(keys.delta_value_dim, d.value_dim, 1024);
  in_range(keys.delta_kernel, d.kernel, 64);
  if (d.value_heads % d.key_heads != 0) {
    user_error("{}: {} is {}, which {} key heads cannot share evenly", keys.file,
               keys.delta_value_heads, d.value_heads, d.key_heads);
  }
  if (d.value_dim % 16 != 0) {
    user_error("{}: {} is {}, expected a multiple of 16", keys.file, keys.delta_value_dim,
               d.value_dim);
  }
}

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
  if (c.latent.used()) check_latent(c, keys);
  in_range(keys.head_dim, c.head_dim, 1024);
  for (int l = 0; l < c.layers; ++l) {
    in_range(keys.head_dim, c.dim_of(l), 1024);
    const bool other = !c.other_angles.empty() && nth(c.other_angles, l) == 1;
    in_range(keys.rotary_dim, (other ? c.other_rope : c.rope).rotary_dim, c.dim_of(l));
    if (!c.dense_ffns.empty()) in_range(keys.dense_ffn, nth(c.dense_ffns, l), 1 << 22);
  }
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
  if (!(c.other_angles.empty() || c.other_rope.still) &&
      (!(c.other_rope.base > 1) || !std::isfinite(c.other_rope.base))) {
    user_error("{}: {} is {}, expected more than 1", keys.file, keys.window_rope_base,
               c.other_rope.base);
  }
  const bool needs_original = c.temperature_scale != 0 || c.rope.scaling == RopeScaling::kLlama3 ||
                              c.rope.scaling == RopeScaling::kYarn || c.rope.depends_on_length();
  if (needs_original) in_range(keys.original_context, c.rope.original_context, 1 << 30);
  if (!(c.rope.factor > 0) || !std::isfinite(c.rope.factor)) {
    user_error("{}: {} is {}, expected more than 0", keys.file, keys.rope_factor, c.rope.factor);
  }
  if (!c.recurrent.empty() && c.ssm.empty() && c.convolution.empty()) check_delta(c, keys);
  if (c.attention_layers() == 0) {
    user_error("{}: {} names no layer with attention, at least one is required", keys.file,
               keys.recurrent);
  }
  if (!(c.norm_eps >= 0) || c.norm_eps > 1)
    user_error("{}: {} is {}, which is outside 0..1", keys.file, keys.norm_eps, c.norm_eps);
  if (c.layer_input != 0) in_range(keys.layer_input, c.layer_input, 1 << 16);
  if (c.experts != 0) {
    in_range(keys.experts, c.experts, 4096);
    in_range(keys.experts_used, c.experts_used, c.experts);
    if (c.dense_layers > 0) {
      in_range(keys.dense_layers, c.dense_layers, c.layers);
      in_range(keys.dense_ffn, c.dense_ffn, 1 << 22);
    }
    check_expert_groups(c, keys);
    if (c.weighs_inputs) in_range(keys.experts_used, c.experts_used, 1);
    if (c.shared_ffn != 0) in_range(keys.shared_ffn, c.shared_ffn, 1 << 22);
    if (!(c.expert_scale > 0) || !std::isfinite(c.expert_scale)) {
      user_error("{}: {} is {}, expected a positive number", keys.file, keys.expert_scale,
                 c.expert_scale);
    }
  }
}

template <class T>
std::vector<T> of_attention_layers(const ModelConfig& c, const std::vector<T>& all) {
  std::vector<T> some;
  for (size_t l = 0; l < all.size(); ++l) {
    if (c.has_attention(static_cast<int>(l))) some.push_back(all[l]);
  }
  return some;
}

}  // namespace

ModelShape ModelConfig::shape(int64_t length) const {
  ModelShape s;
  s.layers = attention_layers();
  s.heads = heads;
  s.kv_heads = of_attention_layers(*this, kv_heads);
  s.head_dim = head_dim;
  s.head_dims = of_attention_layers(*this, head_dims);
  s.scale = attention_scale != 0 ? attention_scale : 1.0f / std::sqrt(static_cast<float>(head_dim));
  s.cap = attention_cap;
  s.values_in_keys = latent.used();
  s.trained_context = trained_context;
  s.window = of_attention_layers(*this, window);
  s.chunked = chunked;
  s.rope = make_rope(rope, length);
  s.other_angles = of_attention_layers(*this, other_angles);
  if (!other_angles.empty()) s.other_rope = make_rope(other_rope, length);
  return s;
}

ModelConfig config_of(const Family& family, CheckpointFormat format) {
  const bool gguf = format == CheckpointFormat::kGguf;
  ModelConfig c;
  c.norms = gguf ? family.gguf_norms : family.hf_norms;
  c.interleaved_rope = gguf ? family.gguf_pairs : family.hf_pairs;
  c.norm_offset = !gguf && family.hf_norm_offset;
  c.qk_norm = family.qk_norm;
  c.qkv_bias = family.qkv_bias;
  c.biases = family.biases;
  c.fused_gate_up = family.fused_gate_up;
  c.expert_sigmoid = family.expert_sigmoid;
  c.choice_bias = (family.expert_sigmoid && !family.weighs_inputs) || family.choice_bias;
  c.weighs_inputs = family.weighs_inputs;
  c.mean_norms = family.mean_norms;
  c.parallel = family.parallel;
  c.ungated = family.ungated;
  c.gating = family.gating;
  c.sinks = family.sinks;
  c.value_norm = family.value_norm;
  c.layer_scales = family.layer_inputs;
  c.experts_apart = family.experts_apart;
  c.output_gate = family.output_gate;
  c.shared_gate = family.shared_gate;
  c.expert_order = gguf ? ExpertOrder::kRows : family.hf_experts;
  c.delta.tiled = gguf && family.gguf_tiled;
  return c;
}

std::vector<uint8_t> recurrent_but_every(int every, int layers) {
  std::vector<uint8_t> recurrent(static_cast<size_t>(layers), 1);
  for (int l = every - 1; l < layers; l += every) recurrent[static_cast<size_t>(l)] = 0;
  return recurrent;
}

std::vector<int64_t> windows_but_every(int every, int64_t width, int layers) {
  std::vector<int64_t> windows(static_cast<size_t>(layers), width);
  for (int l = every - 1; every > 0 && l < layers; l += every) windows[static_cast<size_t>(l)] = 0;
  return windows;
}

void set_layers_that_differ(const Family& family, std::optional<double> window_base,
                            bool window_width, ModelConfig& c) {
  const auto layers = static_cast<size_t>(c.layers);
  const auto has_window = [&](size_t l) { return c.window[l] > 0; };
  const bool some = std::any_of(c.window.begin(), c.window.end(), [](auto w) { return w > 0; });
  if (family.window_rope_base > 0 || (family.window_unscaled && some)) {
    const double usual = family.window_rope_base > 0 ? family.window_rope_base : c.rope.base;
    const int own = c.other_rope.rotary_dim;  // set if these layers have heads of another size
    c.other_rope = RopeSpec{.rotary_dim = own > 0 ? own : c.rope.rotary_dim,
                            .base = window_base.value_or(usual)};
    c.other_angles.assign(layers, 0);
    for (size_t l = 0; l < layers; ++l) c.other_angles[l] = has_window(l) ? 1 : 0;
  } else if (family.still_full && window_width) {
    c.other_rope = RopeSpec{.rotary_dim = c.rope.rotary_dim, .still = true};
    c.other_angles.assign(layers, 0);
    for (size_t l = 0; l < layers; ++l) c.other_angles[l] = has_window(l) ? 0 : 1;
  } else if (family.still_every > 0) {
    c.other_rope = RopeSpec{.rotary_dim = c.rope.rotary_dim, .still = true};
    if (!c.other_angles.empty()) return;  // the file specifies these layers itself
    c.other_angles.assign(layers, 0);
    const auto every = static_cast<size_t>(family.still_every);
    for (size_t l = every - 1; l < layers; l += every) c.other_angles[l] = 1;
  }
}

std::string ModelConfig::beyond_plain() const {
  if (!recurrent.empty()) return "recurrent layers";
  if (experts > 0) return "experts";
  if (!kv_layer.empty()) return "layers that share keys and values";
  if (latent.used()) return "latent keys and values";
  if (!head_dims.empty()) return "heads of different sizes";
  if (sinks) return "attention sinks";
  if (mean_norms) return "norms that subtract the mean";
  if (parallel) return "parallel sublayers";
  if (ungated != Ungated::kNone) return "networks without a gate";
  if (attention_cap > 0 || logit_cap > 0) return "capped logits";
  if (norms.attention == nullptr || norms.attention_after != nullptr)
    return "norms after sublayers";
  if (qk_norm == QkNorm::kWhole) return "norms over all heads";
  if (qk_norm == QkNorm::kFollowing) return "norms of rotated queries and keys";
  if (!(gating == Gating{})) return "another activation than SiLU";
  if (biases) return "biases of output matrices";
  if (!other_angles.empty()) return "layers that rotate differently";
  if (temperature_scale != 0) return "queries that grow with their position";
  if (chunked) return "attention in chunks";
  if (attention_scale != 0) return "a scale of attention";
  if (embedding_scale != 1 || scales_sublayers() || logit_scale != 1) return "multipliers";
  return "";
}

ModelConfig read_config(const Checkpoint& checkpoint) {
  ModelConfig config = checkpoint.format() == CheckpointFormat::kGguf ? read_gguf_config(checkpoint)
                                                                      : read_hf_config(checkpoint);
  check(config, config_keys(checkpoint));
  refuse_other_arithmetic(checkpoint, config);
  return config;
}

}  // namespace longhaul
