#include "model/config.h"

#include <cmath>

#include "base/error.h"
#include "format/checkpoint.h"

namespace longhaul {
namespace {

void check(const ModelConfig& c, const std::string& file) {
  const auto in_range = [&](const char* what, int64_t value, int64_t most) {
    if (value < 1 || value > most) {
      user_error("{}: {} is {}, which is outside 1..{}", file, what, value, most);
    }
  };
  in_range("number of layers", c.layers, 1024);
  in_range("hidden size", c.hidden, 1 << 20);
  in_range("feed-forward size", c.ffn, 1 << 22);
  in_range("vocabulary size", c.vocab, 1 << 24);
  in_range("number of heads", c.heads, 4096);
  in_range("head size", c.head_dim, 1024);
  in_range("rotary dimensions", c.rope.rotary_dim, c.head_dim);
  if (c.rope.rotary_dim % 2 != 0) {
    user_error("{}: rotary dimensions are {}, an odd number", file, c.rope.rotary_dim);
  }
  for (const int kv : c.kv_heads) {
    in_range("number of KV heads", kv, c.heads);
    if (c.heads % kv != 0) {
      user_error("{}: {} query heads cannot share {} KV heads evenly", file, c.heads, kv);
    }
  }
  constexpr int64_t kMostTokens = 1 << 30;
  if (c.trained_context < 0 || c.trained_context > kMostTokens) {
    user_error("{}: the trained context is {} tokens", file, c.trained_context);
  }
  for (const int64_t window : c.window) {
    if (window < 0 || window > kMostTokens) {
      user_error("{}: the sliding window is {} tokens", file, window);
    }
  }
  if (!(c.rope.base > 1) || !std::isfinite(c.rope.base)) {
    user_error("{}: the base of the rotary embedding is {}", file, c.rope.base);
  }
  if (!(c.rope.factor > 0) || !std::isfinite(c.rope.factor)) {
    user_error("{}: the factor of the rotary scaling is {}", file, c.rope.factor);
  }
  const bool needs_original = c.rope.scaling == RopeScaling::kLlama3 ||
                              c.rope.scaling == RopeScaling::kYarn || c.rope.depends_on_length();
  if (needs_original)
    in_range("original context of the rotary scaling", c.rope.original_context, 1 << 30);
  if (!(c.norm_eps >= 0) || c.norm_eps > 1)
    user_error("{}: the norms' epsilon is {}", file, c.norm_eps);
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
  check(config, checkpoint.path().string());
  return config;
}

}  // namespace longhaul
